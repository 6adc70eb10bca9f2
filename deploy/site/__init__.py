"""Generators and mkdocs hooks for the site of docs/ (script/docs)."""
