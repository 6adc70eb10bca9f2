"""Files to run the programs in production: systemd units, Debian packages, containers, alert rules."""
