"""Reports to the service manager that has started the program. Imports nothing of ours."""
