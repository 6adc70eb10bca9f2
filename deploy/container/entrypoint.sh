#!/bin/sh
# Starts the shipper. Filebeat's images take command lines with and without the program's name, and so does this one.
case "${1:-}" in
filebeat | shipper) shift ;;
esac
exec shipper "$@"
