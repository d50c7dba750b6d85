
"use strict";
// Checks the records and the report of this page, then makes its controls work. It sends no request.
(async () => {
  const byId = (id) => document.getElementById(id);
  const sha256 = async (text) => {
    const sum = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
    return Array.from(new Uint8Array(sum), (one) => one.toString(16).padStart(2, "0")).join("");
  };
  // A float as the journal hashes it: Python's repr. Both languages write the shortest digits that read back the same.
  const float = (value) => {
    if (typeof value !== "number" || !(value >= 1e-4 && value < 1e16)) throw new Error(`its time is ${value}`);
    return Number.isInteger(value) ? value.toFixed(1) : String(value);
  };
  // What is sealed of the report: elements with their attributes, and texts, but for the box that shows the result.
  const walked = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (node.nodeType !== Node.ELEMENT_NODE || node.id === "check") return "";
    let text = "\x01" + node.localName.toLowerCase();
    for (const one of node.attributes) text += "\x02" + one.name.toLowerCase() + "\x03" + one.value;
    for (const one of node.childNodes) text += walked(one);
    return text + "\x04";
  };
  // Each hash is of the one before it as that record has it, so all are computed at once; the first that is wrong counts.
  const chain = async (lines, run) => {
    const records = lines.map((line) => { try { return JSON.parse(line); } catch { return null; } });
    const hashed = await Promise.all(records.map(async (record, number) => {
      if (record === null) return "it cannot be read";
      if (record.run !== run) return `it belongs to run ${record.run}`;
      if (record.seq !== number + 1) return `record ${record.seq} is here instead`;
      const before = number ? records[number - 1]?.hash : "0".repeat(64);
      try {
        const text = [before, run, record.seq, float(record.at), record.lane || "", record.event].join("\n");
        return record.hash === await sha256(text) ? "" : "its hash does not match its content";
      } catch (error) {
        return error.message;
      }
    }));
    const wrong = hashed.findIndex((one) => one !== "");
    if (wrong >= 0) throw new Error(`record ${wrong + 1} of ${lines.length}: ${hashed[wrong]}`);
    const last = records[records.length - 1], kind = JSON.parse(last.event).kind;
    return { seq: last.seq, hash: last.hash, isWhole: kind === "run.finished" || kind === "run.paused" };
  };
  const show = (state, title, ...texts) => {
    const box = byId("check");
    box.className = `check ${state}`;
    box.replaceChildren(...[["h2", title], ...texts.map((text) => ["p", text])].map(([name, text]) => {
      const made = document.createElement(name);
      made.textContent = text;
      return made;
    }));
    if (state === "wrong") byId("report").prepend(box);
  };
  const check = async () => {
    if (!globalThis.crypto || !crypto.subtle) {
      show("unchecked", "The records were not checked here", "This viewer has no WebCrypto. Save the file and open it "
        + "in a browser.");
      return;
    }
    const problems = [];
    const records = byId("records").textContent;
    const report = walked(document.querySelector("title")) + walked(byId("report"));
    show("unchecked", "Checking the records …");
    try {
      const seal = JSON.parse(byId("seal").textContent);
      let end = null;
      try {
        end = await chain(records.split("\n"), seal.run);
      } catch (error) {
        problems.push(`The chain breaks at ${error.message}.`);
      }
      if (!problems.length && await sha256(records) !== seal.records) problems.push("A byte that the hash chain does not cover was changed.");
      if (await sha256(report) !== seal.report) problems.push("The report or its title was changed after failover wrote it.");
      if (!problems.length) {
        const early = end.isWhole ? "" : " The run had not ended when this file was written: later records are missing.";
        show(end.isWhole ? "right" : "unchecked", `${end.seq.toLocaleString("en-US")} records checked in this page: none was changed`,
          `The hash chain of the records holds, and the report is as failover wrote it.${early} `
          + `Last record ${end.seq}, hash ${end.hash}.`);
        return;
      }
    } catch (error) {
      problems.push(`The page cannot be checked: ${error.message}.`);
    }
    show("wrong", "CHANGED: do not trust this file", ...problems, "Ask for the report again, or check the run at its journal: failover runs verify");
  };
  const sifting = () => {
    const services = [...document.querySelectorAll("details.service")];
    const sift = () => {
      const wanted = byId("filter").value.trim().toLowerCase();
      let number = 0;
      for (const one of services) {
        const fits = one.dataset.name.toLowerCase().includes(wanted);
        one.hidden = !fits || (byId("only").checked && one.dataset.state === "done");
        number += !one.hidden;
      }
      byId("shown").textContent = `${number} of ${services.length}`;
    };
    byId("filter").addEventListener("input", sift);
    byId("only").addEventListener("change", sift);
    byId("open").addEventListener("click", () => services.forEach((one) => { one.open = !one.hidden; }));
    byId("close").addEventListener("click", () => services.forEach((one) => { one.open = false; }));
    sift();
  };
  const controls = () => {
    if (byId("filter")) sifting();
    byId("save").addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([byId("records").textContent, "\n"], { type: "application/x-ndjson" }));
      link.download = `${JSON.parse(byId("seal").textContent).run}.jsonl`;
      link.click();
    });
    for (const one of document.querySelectorAll(".tools")) one.hidden = false;
  };
  await check();
  controls();
})();
