#!/bin/sh
# Makes the folder of libraries that the macOS cross-build links: utf8proc and PCRE2 compiled by zig from Debian's source packages, and copies
# of the header-only ones that are installed.
#
#   pip install ziglang && cmake/zig/dependencies.sh [PREFIX]        PREFIX: build-macos-zig-dependencies
#
# Sources are fetched with `apt-get source`; ANEDVD_ZIG_SOURCES names a folder that holds the archives already.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=${1:-$here/../../build-macos-zig-dependencies}
target=${ZIG_TARGET:-aarch64-macos.13.0}
mkdir -p "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/build"
prefix=$(cd "$prefix" && pwd)
sources=${ANEDVD_ZIG_SOURCES:-$prefix/build}
export ZIG_GLOBAL_CACHE_DIR="${ZIG_GLOBAL_CACHE_DIR:-$prefix/zig-cache}"

if ! ls "$sources"/utf8proc_*.orig.tar.* "$sources"/pcre2_*.orig.tar.* >/dev/null 2>&1; then
  # A list of its own, so that the machine's need not name source packages.
  apt=$prefix/build/apt
  mkdir -p "$apt/lists/partial"
  echo "deb-src http://deb.debian.org/debian $(. /etc/os-release && echo "$VERSION_CODENAME") main" > "$apt/sources.list"
  options="-o Dir::Etc::sourcelist=$apt/sources.list -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists=$apt/lists"
  # shellcheck disable=SC2086
  (cd "$sources" && apt-get $options update && apt-get $options source --download-only utf8proc pcre2)
fi
cd "$prefix/build"
for archive in "$sources"/utf8proc_*.orig.tar.* "$sources"/pcre2_*.orig.tar.*; do tar xf "$archive"; done

# compile NAME FLAGS… -- SOURCES…: lib/libNAME.a. One compiler at a time: zig fills its cache first.
compile() {
  name=$1; shift
  flags=
  while [ "$1" != -- ]; do flags="$flags $1"; shift; done
  shift
  rm -rf "objects-$name" && mkdir "objects-$name"
  for file in "$@"; do
    # shellcheck disable=SC2086
    "$here/zig-cc" -target "$target" -O2 $flags -c "$file" -o "objects-$name/$(basename "$file" .c).o"
  done
  rm -f "$prefix/lib/lib$name.a"
  "$here/zig-ar" rcs "$prefix/lib/lib$name.a" "objects-$name"/*.o
}

# describe NAME LIBRARY VERSION CFLAGS: a pkg-config file.
describe() {
  printf 'prefix=%s\nName: %s\nDescription: %s\nVersion: %s\nLibs: -L${prefix}/lib -l%s\nCflags: -I${prefix}/include %s\n' \
    "$prefix" "$1" "$1" "$3" "$2" "$4" > "$prefix/lib/pkgconfig/$1.pc"
}

utf8proc=$(echo utf8proc-*/)
compile utf8proc -DUTF8PROC_STATIC -- "$utf8proc/utf8proc.c"
cp "$utf8proc/utf8proc.h" "$prefix/include"
describe libutf8proc utf8proc "$(echo "$utf8proc" | sed 's/utf8proc-//; s|/||')" -DUTF8PROC_STATIC

pcre2=$(echo pcre2-*/src)
cp "$pcre2/config.h.generic" "$pcre2/config.h"
cp "$pcre2/pcre2.h.generic" "$pcre2/pcre2.h"
cp "$pcre2/pcre2_chartables.c.dist" "$pcre2/pcre2_chartables.c"
set --
for part in auto_possess chartables chkdint compile config context convert dfa_match error extuni find_bracket jit_compile maketables \
            match match_data newline ord2utf pattern_info script_run serialize string_utils study substitute substring tables ucd valid_utf \
            xclass; do
  [ -f "$pcre2/pcre2_$part.c" ] && set -- "$@" "$pcre2/pcre2_$part.c"
done
compile pcre2-8 -DHAVE_CONFIG_H -DPCRE2_CODE_UNIT_WIDTH=8 -DSUPPORT_PCRE2_8 -DSUPPORT_UNICODE -DPCRE2_STATIC -I"$pcre2" -- "$@"
cp "$pcre2/pcre2.h" "$prefix/include"
describe libpcre2-8 pcre2-8 "$(echo "$pcre2" | sed 's|pcre2-||; s|/src||')" -DPCRE2_STATIC

for library in fmt nlohmann CLI tl boost; do
  rm -rf "$prefix/include/$library"
  cp -rL "/usr/include/$library" "$prefix/include/"
done
echo "$prefix"
