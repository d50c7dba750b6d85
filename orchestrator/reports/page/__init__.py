"""The report of a run as a document. One story is written as HTML that checks its own records, as Markdown, or as
JSON."""
