"""The report of a run as a document: one story, as HTML that proves its own records, as Markdown, and as JSON."""
