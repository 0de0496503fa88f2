#!/bin/sh
# serve_certificate.sh BUILD SOURCE: the certificate beside an adapter's file is told where it is of that file; where not, why not is.
exec ruby "$2/tests/e2e/serve_certificate.rb" "$1" "$2"
