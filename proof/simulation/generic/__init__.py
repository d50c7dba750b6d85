"""The runs of families in files: what is drawn of them, and what is true of them."""
