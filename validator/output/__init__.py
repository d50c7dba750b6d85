"""A validation as text, drawing, SARIF and reference tables."""
