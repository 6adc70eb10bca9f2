#!/bin/sh
# Starts the shipper. As in Filebeat's images, the command line may begin with the program's name.
case "${1:-}" in
filebeat | shipper) shift ;;
esac
exec shipper "$@"
