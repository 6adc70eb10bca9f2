"""Builds the Debian packages `kafka-log-shipper` and `kafka-log-shipper-sink`: script/package.

`contents` names what each package consists of, `environment` makes its Python below /opt, `tree` lays out all files,
some of them generated from the command line and the options, `policy` has what Debian asks beside them (licences,
changelog), `archive` calls dpkg-deb, and `bill` lists the components (SBOM).
"""
