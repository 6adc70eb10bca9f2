"""Builds the Debian packages `kafka-log-shipper` and `kafka-log-shipper-sink`: script/package.

`contents` defines the packages, `environment` creates their Python below /opt, `tree` lays out all files, some of them
generated from command line and options, `policy` has Debian's further requirements (licences, changelog), `archive`
calls dpkg-deb, and `bill` lists the components (SBOM).
"""
