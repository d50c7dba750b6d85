"""Mutants of hooks: what is owed to others is lost, told twice, told wrongly, or told to somebody else."""

from __future__ import annotations

from adapters.http.session import HttpSession
from orchestrator.journal.lease import create_run
from orchestrator.journal.outbox import Outbox, _row
from orchestrator.notifications.backlog import drop, flush
from orchestrator.notifications.command import CommandSender
from orchestrator.notifications.delivery import Courier, back_off
from orchestrator.notifications.delivery_context import Office
from orchestrator.notifications.message import message_of, signature, wants
from orchestrator.notifications.webhook import WebhookSender
from orchestrator.notifications.worker import _BacklogThread, _HookThread
from orchestrator.operations.runs.hooks import telling
from tests.proof.mutants.editing import edit
from tests.proof.mutants.parts.catching import PartMutant

_COURIER = "tests/hooks/test_hook_courier.py"
_BACKLOG = "tests/hooks/test_hook_backlog.py"
_MESSAGE = "tests/hooks/test_hook_message.py"
_COMMAND = "tests/hooks/test_hook_command.py"
_WEBHOOK = "tests/hooks/test_hook_webhook.py"
_WORKER = "tests/hooks/test_hook_worker.py"

_SEND = "self._send(message_of(line, simulated=self._simulated, scrub=self._scrub))"
_TICK = 'self._position, self._is_owed = line["seq"], True'
_OUTPUT = 'output.decode("utf-8", "replace")'
_UNTIL = "until = self._until  "
_WORK = "has_all = courier.work(self._may_go_on)"

HOOKS = (
    PartMutant(
        "hook-ticked-off-first",
        "an event is marked as taken before the receiver took it",
        (edit(Courier._bring, (_SEND, f"{_TICK}\n            self._save()\n            {_SEND}")),),
        caught_by=f"{_COURIER}::test_killed_around_a_delivery[before-2]",
    ),
    PartMutant(
        "hook-failure-passed-over",
        "an event that was refused is given up, and the next one is told",
        (edit(Courier._bring, (_SEND, f"with suppress(HookFailed):\n                {_SEND}")),),
        caught_by=f"{_COURIER}::test_a_refused_event_holds_back_those_behind_it",
    ),
    PartMutant(
        "hook-told-out-of-order",
        "of the records that were read at once the last is told first",
        (edit(Courier._work, ("for line in lines:", "for line in reversed(lines):")),),
        caught_by=f"{_COURIER}::test_everything_wanted_is_told_in_order",
    ),
    PartMutant(
        "hook-progress-falls",
        "a slower process takes back what another one has delivered",
        (edit(Outbox.done_with, (", DELIVERIES.c.seq < seq)", ")")),),
        caught_by=f"{_COURIER}::test_a_cursor_never_falls",
    ),
    PartMutant(
        "hook-told-twice",
        "what was taken is told again, since it could not be saved",
        (edit(Courier._failed, ("self.failure = failure", "self.failure, self._position = failure, None")),),
        caught_by=f"{_COURIER}::test_a_journal_that_is_away_is_a_failure_like_others[done_with]",
    ),
    PartMutant(
        "hook-without-a-pause",
        "after a failure the next attempt is made at once",
        (edit(Courier.work, ("if self._clock.now() < self.due:", "if False:")),),
        caught_by=f"{_COURIER}::test_back_off_in_time",
    ),
    PartMutant(
        "hook-pauses-for-ever",
        "the pause after a failure is doubled without a bound",
        (edit(back_off, ("min(BACK_OFF_MAX, ", "max(0.0, ")),),
        caught_by=f"{_COURIER}::test_back_off_in_time",
    ),
    PartMutant(
        "hook-owed-nothing-at-first",
        "a run begins without the debts to its hooks",
        (edit(create_run, ("if hooks:", "if False:")),),
        caught_by=f"{_COURIER}::test_a_new_run_owes_its_hooks_from_its_first_record",
    ),
    PartMutant(
        "hook-progress-of-all-runs",
        "what a hook took of one run counts for the hook of that name in every run",
        (edit(_row, ("DELIVERIES.c.run == run, ", "sa.true(), ")),),
        caught_by=f"{_BACKLOG}::test_everything_is_delivered_once",
    ),
    PartMutant(
        "hook-of-another-run",
        "the backlog of other runs is told too, where a person named one",
        (edit(Outbox.behind, ("query = query.where(DELIVERIES.c.run == run)", "pass")),),
        caught_by=f"{_BACKLOG}::test_one_run_only",
    ),
    PartMutant(
        "hook-flush-of-somebody-else",
        "a flush tells the hooks of runs that another process delivers",
        (edit(flush, ("if skip(behind.run):", "if False:")),),
        caught_by=f"{_BACKLOG}::test_a_run_of_somebody_else_is_skipped",
    ),
    PartMutant(
        "hook-dead-receiver-asked-for-each-run",
        "a receiver that is away is waited for once for each run",
        (edit(flush, ("if hook in away:", "if False:")),),
        caught_by=f"{_BACKLOG}::test_a_receiver_that_is_away_is_asked_once",
    ),
    PartMutant(
        "hook-refused-counts-as-away",
        "one event that is refused keeps back the events of all other runs",
        (edit(flush, (" and courier.failure.cause in _AWAY", "")),),
        caught_by=f"{_BACKLOG}::test_a_refused_event_stops_its_own_run_only",
    ),
    PartMutant(
        "hook-flush-not-simulated",
        "a backlog of a simulated run is told as if it were real",
        (edit(flush, ("simulated=plan.simulated", "simulated=False")),),
        caught_by=f"{_BACKLOG}::test_a_backlog_says_whether_it_was_simulated[True]",
    ),
    PartMutant(
        "hook-flush-not-cut-off",
        "a command that a flush runs goes on though nobody can wait for it any more",
        (edit(flush, ("is_halted=lambda: not may_go_on()", "is_halted=lambda: False")),),
        caught_by=f"{_BACKLOG}::test_a_command_of_a_backlog_is_cut_off",
    ),
    PartMutant(
        "hook-all-given-up",
        "who gives up one hook of a run gives up all of them",
        (edit(drop, ("if hook in (None, lost.hook):", "if True:")),),
        caught_by=f"{_BACKLOG}::test_giving_up",
    ),
    PartMutant(
        "hook-backlog-of-a-led-run",
        "the events of a run that is led elsewhere are told from here too",
        (edit(_BacklogThread.run, (" or outbox.is_led(run, self._office.clock.now())", "")),),
        caught_by=f"{_WORKER}::test_the_backlog_is_of_older_runs_that_nobody_leads",
    ),
    PartMutant(
        "hook-backlog-of-the-own-run",
        "the backlog tells the hooks of the own run a second time",
        (edit(_BacklogThread.run, ("run == self._own or ", "")),),
        caught_by=f"{_WORKER}::test_the_backlog_is_of_older_runs_that_nobody_leads",
    ),
    PartMutant(
        "hook-end-overtakes-a-record",
        "a record that comes right before a hook is told to finish is left behind",
        (edit(_HookThread._keep_told, (_UNTIL, "pass  "), (_WORK, f"{_WORK}\n            until = self._until")),),
        caught_by=f"{_WORKER}::test_what_is_recorded_while_a_hook_ends_is_told",
    ),
    PartMutant(
        "hook-command-left-behind",
        "a block that raises leaves the commands of its hooks behind",
        (edit(telling, ("        hooks.halt()\n        raise", "        raise")),),
        caught_by=f"{_WORKER}::test_a_block_that_raises_waits_for_no_hook",
    ),
    PartMutant(
        "hook-alias-unknown",
        "a hook that asks for gate.asked is not told of open gates",
        (edit(wants, ("ALIASES.get(name, name) == kind", "name == kind")),),
        caught_by=f"{_MESSAGE}::test_what_is_wanted[on3-gate.opened-True]",
    ),
    PartMutant(
        "hook-message-not-scrubbed",
        "a secret that got into a record before it was known leaves through a hook",
        (edit(message_of, ("scrubbed = scrub(data)", "scrubbed = data")),),
        caught_by=f"{_MESSAGE}::test_what_became_known_as_a_secret_since_is_replaced",
    ),
    PartMutant(
        "hook-office-does-not-scrub",
        "couriers are made without the secrets that the program knows",
        (edit(Office.courier, ("scrub=self.redactor.scrub_data", "scrub=lambda data: data")),),
        caught_by=f"{_BACKLOG}::test_a_backlog_leaves_without_secrets",
    ),
    PartMutant(
        "hook-time-not-signed",
        "the signature is of the body alone, so that an old message can be sent again",
        (edit(signature, ("f'{moment}.'.encode() + body", "body")),),
        caught_by=f"{_MESSAGE}::test_the_signature_is_of_time_and_body",
    ),
    PartMutant(
        "hook-not-signed",
        "events leave without a signature",
        (edit(WebhookSender.__call__, ("SIGNATURE_HEADER: signature(secret, body, self._clock.now()),", "")),),
        caught_by=f"{_WEBHOOK}::test_each_attempt_is_signed_anew",
    ),
    PartMutant(
        "hook-redirect-taken-for-success",
        "an answer that only points elsewhere counts as taken",
        (edit(WebhookSender.__call__, ("if status not in _SUCCESS:", "if status >= 400:")),),
        caught_by=f"{_WEBHOOK}::test_only_a_success_is_one[302]",
    ),
    PartMutant(
        "hook-address-in-a-failure",
        "the address of a webhook, which may be a password, is in the text of a failure",
        (edit(WebhookSender.__call__, ("urlsplit(self._webhook.url).hostname", "self._webhook.url")),),
        caught_by=f"{_WEBHOOK}::test_only_a_success_is_one[404]",
    ),
    PartMutant(
        "hook-redirect-followed",
        "events go wherever the receiver points",
        (edit(HttpSession._new_client, ("follow_redirects=False", "follow_redirects=True")),),
        caught_by=f"{_WEBHOOK}::test_a_redirect_is_not_followed",
    ),
    PartMutant(
        "hook-time-out-of-all",
        "the time-out that a webhook has in the inventory is not kept",
        (edit(WebhookSender.__call__, ("timeout_s=self._hook.timeout", "timeout_s=10.0")),),
        caught_by=f"{_WEBHOOK}::test_each_webhook_has_limits_of_its_own",
    ),
    PartMutant(
        "hook-certificates-of-the-machine",
        "the certificate authority that a webhook has in the inventory is not used",
        (edit(WebhookSender.__call__, ("ca_file=self._webhook.ca_file", "ca_file=None")),),
        caught_by=f"{_WEBHOOK}::test_a_certificate_is_checked",
    ),
    PartMutant(
        "hook-environment-handed-on",
        "a command gets the whole environment, passwords included",
        (edit(CommandSender.__call__, ("env=self._environment | about", "env=os.environ | about")),),
        caught_by=f"{_COMMAND}::test_its_environment_is_minimal",
    ),
    PartMutant(
        "hook-exit-code-not-looked-at",
        "a command that fails counts as told",
        (edit(CommandSender._judge, ("if code > 0:", "if code > 125:")),),
        caught_by=f"{_COMMAND}::test_a_command_that_fails[import sys; sys.exit(3)-exit code 3]",
    ),
    PartMutant(
        "hook-output-not-scrubbed",
        "a secret that a command prints is in the text of its failure",
        (
            edit(
                CommandSender._quote,
                (f"self._scrub({_OUTPUT})", _OUTPUT),
            ),
        ),
        caught_by=f"{_COMMAND}::test_what_it_says_is_shown_without_secrets",
    ),
    PartMutant(
        "hook-output-without-a-bound",
        "all that a command prints is kept in memory",
        (
            edit(
                CommandSender._converse,
                (
                    "output = (output + _read(selector, process.stdout))[-_KEPT:]",
                    "output += _read(selector, process.stdout)",
                ),
                ("output = (output + piece)[-_KEPT:]", "output += piece"),
            ),
        ),
        caught_by=f"{_COMMAND}::test_no_more_is_kept_than_a_failure_needs",
    ),
    PartMutant(
        "hook-command-time-out-not-kept",
        "a command has much more time than the inventory says",
        (edit(CommandSender._converse, ("+ self._timeout_s", "+ 5 * self._timeout_s")),),
        caught_by=f"{_COMMAND}::test_a_command_has_the_time_of_its_hook_and_no_more",
    ),
)
