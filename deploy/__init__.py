"""What is needed to run the programs on machines: units of systemd, Debian packages, alert rules."""
