"""Mutants of redaction: a secret gets by in one of its forms, or a text is written without being looked through."""

from __future__ import annotations

from orchestrator.cli.render import terminal
from orchestrator.family.secrets import Redactor, SecretStore, _base64_forms, _joined, _pattern, _spelling, _text
from orchestrator.journal.journal import Journal
from orchestrator.operations.free_texts import _walk
from orchestrator.operations.runtime import Tools
from tests.proof.mutants.editing import edit
from tests.proof.mutants.parts.catching import PartMutant

_REDACT = "tests/definitions/test_redact.py"
_FORMS = "tests/definitions/test_redact_forms.py"
_FREE = "tests/cli/test_discretion.py"
_SECRETS = "tests/cli/test_secrets.py"
_WIRE = "tests/attack/test_attack_wire_log.py::test_no_form_of_a_secret_is_in_the_log"

_ALL_FORMS = "{form for one in self._secrets for form in _forms(one)}"
_LOOKS_AHEAD = """f"(?=({'|'.join(forms)}))\""""
_CONSUMES = """f"({'|'.join(forms)})\""""
_TEXTS = "texts = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}"
_EVENT = "event.model_dump_json(exclude_defaults=False)"
_NOT_UTF8 = 'raise DefinitionError(f"the {source} is not UTF-8 text", file=path)'


def _without(name: str, about: str, way: str, caught_by: str, by: str = "") -> PartMutant:
    """One way to write a character of a secret is not known, or is ``by``."""
    return PartMutant(f"secret-{name}", about, (edit(_spelling, (way, by)),), caught_by=caught_by)


def _form(name: str) -> str:
    return f"{_FORMS}::test_no_character_of_it_is_left[{name}]"


REDACTION = (
    PartMutant(
        "secret-in-base64",
        "a secret in base64, as in a Basic header, is shown",
        (edit(_pattern, ("for form in _base64_forms(text)", "for form in ()")),),
        caught_by=f"{_REDACT}::test_every_form_is_replaced[Hunter2!-base64]",
    ),
    PartMutant(
        "secret-escaped-in-base64",
        "a secret in base64 of a JSON document is shown",
        (edit(_pattern, (_TEXTS, "texts = {secret}")),),
        caught_by=f"{_WIRE}[awkward]",
    ),
    _without(
        "in-a-form",
        "a secret in the body of an HTML form is shown",
        r' r"\+",',
        f"{_REDACT}::test_every_form_is_replaced[ends with space -form]",
    ),
    _without(
        "on-one-line",
        "a secret of several lines is shown by an error, which puts it on one",
        "'+?'",
        _form("several lines on one"),
        "'{%d}' % len(part)",
    ),
    _without(
        "in-an-attribute",
        "a secret of several lines is shown in an attribute of XML",
        'f"(?i:{entity})", ',
        _form("several lines in an attribute"),
    ),
    _without(
        "in-entities",
        "a secret with both kinds of quotes is shown in XML",
        "{named}",
        _form("both quotes as entities"),
    ),
    _without(
        "in-decimal-entities",
        "a secret with an apostrophe as a decimal entity is shown",
        "#0{{0,5}}{ord(one)}|",
        _form("decimal entities"),
    ),
    _without(
        "behind-backslashes",
        "a secret that a shell would have with backslashes is shown",
        r'ways = [rf"\\{{0,8}}{re.escape(part)}"]',
        _form("backslashes of a shell"),
        "ways = [re.escape(part)]",
    ),
    _without(
        "percent-encoded",
        "a secret that was percent-encoded as a browser does it is shown",
        'f"(?i:{in_bytes})", ',
        _form("encodeURIComponent"),
    ),
    _without(
        "percent-encoded-twice",
        "a secret in a URL in a URL is shown",
        "(?:25){{0,3}}",
        f"{_WIRE}[awkward]",
    ),
    PartMutant(
        "secret-in-base64-of-urls",
        "a secret in the URL-safe alphabet of base64 is shown",
        (edit(_base64_forms, ("(base64.b64encode, base64.urlsafe_b64encode)", "(base64.b64encode,)")),),
        caught_by=f"{_REDACT}::test_both_alphabets_of_base64[-??>>??>>??]",
    ),
    PartMutant(
        "secret-in-the-middle-of-base64",
        "a secret is shown in base64 of a text in which it begins at the third of three places",
        (edit(_base64_forms, ("for offset in range(3)", "for offset in range(2)")),),
        caught_by=f"{_REDACT}::test_both_alphabets_of_base64[ab-??>>??>>??]",
    ),
    PartMutant(
        "secret-end-of-base64",
        "the last character of a secret in base64 without padding is left",
        (edit(_base64_forms, ('yield whole.rstrip("=")', "pass")),),
        caught_by=_form("base64 without padding"),
    ),
    PartMutant(
        "secret-short-in-words",
        "a secret of one letter is replaced in the middle of words",
        (edit(_pattern, ("alone = len(inner) < _STANDS_ALONE_BELOW", "alone = False")),),
        caught_by=f"{_REDACT}::test_short_secrets_only_where_they_stand_alone",
    ),
    PartMutant(
        "secret-shorter-first",
        "of a secret that begins with another one the rest is shown",
        (edit(_pattern, ("(-len(secret), secret)", "secret")),),
        caught_by=f"{_REDACT}::test_the_longest_secret_wins",
    ),
    PartMutant(
        "secret-overlap-not-seen",
        "of two secrets that overlap the end of the second is shown",
        (edit(_pattern, (_LOOKS_AHEAD, _CONSUMES)),),
        caught_by=f"{_FORMS}::test_secrets_that_overlap_are_one_mark",
    ),
    PartMutant(
        "secret-overlap-not-joined",
        "of two secrets that overlap the first one's end counts for both",
        (edit(_joined, ("end = max(end, next_end)", "pass")),),
        caught_by=f"{_FORMS}::test_secrets_that_overlap_are_one_mark",
    ),
    PartMutant(
        "secret-earlier-forgotten",
        "only the secret that was learned last is replaced",
        (edit(Redactor.learn, ("{*self._secrets, secret}", "{secret}")),),
        caught_by=f"{_REDACT}::test_the_longest_secret_wins",
    ),
    PartMutant(
        "secret-half-of-an-earlier",
        "at a cut only halves of the secret that was learned last are replaced",
        (edit(Redactor.learn, (_ALL_FORMS, "_forms(secret)")),),
        caught_by=f"{_FORMS}::test_every_secret_is_known_at_a_cut",
    ),
    PartMutant(
        "secret-half-in-a-form",
        "at a cut half of an encoded secret is shown",
        (edit(Redactor.learn, (_ALL_FORMS, "self._secrets")),),
        caught_by=f"{_FORMS}::test_every_secret_is_known_at_a_cut",
    ),
    PartMutant(
        "secret-half-before-a-whole",
        "a text that has a whole secret after half of one shows the half",
        (edit(Redactor.scrub, ("_joined(sorted(spans))", "_joined(spans)")),),
        caught_by=f"{_FORMS}::test_half_a_secret_before_a_whole_one",
    ),
    PartMutant(
        "secret-in-a-key",
        "a secret that is a key of JSON is shown",
        (edit(Redactor.scrub_data, ("self.scrub(key) if isinstance(key, str) else key", "key")),),
        caught_by=f"{_REDACT}::test_data_is_scrubbed_at_any_depth",
    ),
    PartMutant(
        "secret-not-learned",
        "a secret is handed out, and redaction does not hear of it",
        (edit(SecretStore.reveal, ("self.redactor.learn(secret)", "pass")),),
        caught_by=f"{_REDACT}::test_a_secret_from_the_environment",
    ),
    PartMutant(
        "secret-behind-an-error",
        "the error about a file of a secret leads to one that holds what is in the file",
        (edit(_text, (f"{_NOT_UTF8} from None", _NOT_UTF8)),),
        caught_by=f"{_FORMS}::test_an_error_brings_nothing_of_the_file_along",
    ),
    PartMutant(
        "secret-below-a-free-text",
        "a secret in a reason, which is kept by its question, is recorded",
        (edit(_walk, ("free=free or key in FREE_TEXTS", "free=key in FREE_TEXTS")),),
        caught_by=f"{_FREE}::test_all_below_a_free_text_is_free",
    ),
    PartMutant(
        "secret-replaced-in-names",
        "a name that looks like a secret is replaced, so that the record cannot be gone on with",
        (edit(_walk, ("scrub(value) if free and isinstance", "scrub(value) if isinstance")),),
        caught_by=f"{_FREE}::test_free_texts_are_scrubbed_at_any_depth",
    ),
    PartMutant(
        "secret-recorded",
        "what a device repeats is recorded as it is",
        (
            edit(
                Journal._chain,
                (f"self._scrub({_EVENT})", _EVENT),
            ),
        ),
        caught_by=f"{_SECRETS}::test_a_device_that_repeats_the_password[env]",
    ),
    PartMutant(
        "secret-on-the-screen",
        "an error that quotes a password is shown as it is",
        (edit(terminal.presentable, ("_Door.redactor.scrub(text)", "text")),),
        caught_by=f"{_SECRETS}::test_a_login_that_fails_with_it[form0]",
    ),
    PartMutant(
        "secret-in-json",
        "what is printed for machines is not looked through",
        (edit(terminal.show_json, ("_Door.redactor.scrub_data(data)", "data")),),
        caught_by=f"{_SECRETS}::test_a_device_that_repeats_the_password[env]",
    ),
    PartMutant(
        "secret-in-the-url-of-the-journal",
        "the password in the URL of the journal is shown",
        (edit(Tools.journal, ("self.secrets.redactor.learn(password)", "pass")),),
        caught_by=f"{_SECRETS}::test_the_journal_of_a_database[url1]",
    ),
    PartMutant(
        "secret-in-a-request",
        "what a person asks of a run is stored as it was typed",
        (
            edit(
                Journal.ask,
                ("self._scrub(request.as_json())", "request.as_json()"),
            ),
        ),
        caught_by=f"{_FREE}::test_a_request_is_stored_without_secrets",
    ),
    PartMutant(
        "secret-in-a-document",
        "a document or a table is printed without being looked through",
        (edit(terminal.show_document, ("_Door.redactor.scrub(text)", "text")),),
        caught_by=f"{_FREE}::test_a_document_is_printed_without_secrets",
    ),
)
