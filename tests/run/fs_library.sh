# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# libringfence as those see it who use it: installed, found by pkg-config, with no symbol but its own.

needs_all host command:gcc command:pkg-config

# The library as `make install` leaves it, below ./dest.
install_library()
{
	make -s -C "$RF_TOP" install-library O="$(dirname "$RF")" PREFIX="$PWD/dest" >make.log 2>&1 ||
		fail "install-library: $(tail -n 3 make.log)"
}

# What the two headers declare, inline functions aside.
declared()
{
	cat dest/include/ringfence/fs/*.h | grep -v '^static' |
		grep -oE '^[a-z][a-z_ ]*[ *]rf_(fs|glob)_[a-z_]+\(' | grep -oE 'rf_[a-z_]+\($' | tr -d '(' | sort -u
}

test_f5_the_library_exports_what_its_headers_declare()
{
	install_library
	[[ $(declared | wc -l) -gt 25 ]]
	expect_eq "$(nm -D --defined-only dest/lib/libringfence.so |
		sed -n 's/.* T \(.*\)@@RINGFENCE_.*/\1/p' | sort)" "$(declared)"
	expect_eq "$(nm -g --defined-only dest/lib/libringfence.a | sed -n 's/.* [A-Z] //p' | sort)" \
		"$(declared)"
	# It is not the whole house.
	expect_lacks "$(readelf -d dest/lib/libringfence.so)" jansson
}

needs test_f5_the_example_of_the_page_runs_against_both_shapes time:60
test_f5_the_example_of_the_page_runs_against_both_shapes()
{
	local shape
	local -a flags
	install_library
	# shellcheck disable=SC2016 # backquotes of the page
	sed -n '/^```$/,/^```$/p' "$RF_TOP/docs/ringfence.3.scd" | grep -v '^```' |
		sed 's/\\\\/\\/g' >example.c
	export PKG_CONFIG_PATH=$PWD/dest/lib/pkgconfig LD_LIBRARY_PATH=$PWD/dest/lib
	for shape in shared static; do
		[[ $shape == shared ]] || rm dest/lib/libringfence.so*
		read -ra flags <<<"$(pkg-config --cflags --libs "--$shape" ringfence)"
		gcc -std=gnu11 -Wall -Wextra -Werror -o "$shape" example.c "${flags[@]}"
		mkdir "tree.$shape"
		expect_eq "$("./$shape" "tree.$shape")" hello
		expect_eq "$(cat "tree.$shape/note")" hello
		ln "tree.$shape/note" "tree.$shape/alias"
		expect_contains "$(expect_status 1 "./$shape" "tree.$shape" 2>&1)" '(escape)'
		ldd "$shape" >"needs.$shape"
	done
	expect_contains "$(cat needs.shared)" "libringfence.so.0 => $PWD/dest/lib"
	expect_lacks "$(cat needs.static)" libringfence
}
