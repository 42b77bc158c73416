# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Every test of fs.sh once more on a host whose filter refuses io_uring: the answers are the same.

# shellcheck source=tests/run/fs.sh
source <(sed -E 's/^test_/_plain_test_/; s/^needs test_/needs test_plain_/' "$RF_TOP/tests/run/fs.sh")

# Programs of the same names that run under the filter.
refuse_io_uring()
{
	local program filter
	filter=$(probe filter)
	mkdir -p "$RF_SCRATCH/bin"
	for program in "$RF" "$(dirname "$RF")/ringfenced"; do
		printf '#!/bin/sh\nexec %q io_uring_setup=%s -- %q "$@"\n' "$filter" "$1" "$program" \
			>"$RF_SCRATCH/bin/${program##*/}"
		chmod 755 "$RF_SCRATCH/bin/${program##*/}"
	done
	RF=$RF_SCRATCH/bin/${RF##*/}
}

# What is not about the engine, or names it, is once enough.
for name in $(compgen -A function _plain_test_); do
	name=${name#_plain_test_}
	case $name in
	*_page_lists_* | *_io_uring_* | *_of_the_wire_* | *_bad_values_*)
		unset "needs_of[test_plain_$name]"
		;;
	*)
		eval "test_plain_$name() { refuse_io_uring ENOSYS; _plain_test_$name; }"
		;;
	esac
done
