# What quickstart and test share: the list of packages, installing them, build folders, step lines. Sourced, not run.
#
# The caller has set `root` (the repository) and `total` (how many steps it prints). Works in bash 3.2, which macOS still ships.
# Everything said here goes to stderr: stdout belongs to the answer.

build="$root/build"
logs="$build/logs"
install=yes  # --no-install sets no

# ---- packages: the one list -------------------------------------------------------------------------------------------------------
#
# needed   build   without it nothing compiles         fetch   `anedvd pull` uses it
#          speed   quicker builds, never required      test    only scripts/test
#          page    the tests of the page in a browser, skipped without
#          terminal those of the chat in a terminal that wraps and pastes, skipped without
# A dash: not a package there (part of the system, or of no use).
package_table() {
  cat <<'END'
# Debian             Homebrew        needed  found by
g++                  -               build   compiler
cmake                cmake           build   program cmake
ninja-build          ninja           build   program ninja
pkg-config           pkgconf         build   program pkg-config
libexpected-dev      tl-expected     build   header tl/expected.hpp
libfmt-dev           fmt             build   header fmt/core.h
nlohmann-json3-dev   nlohmann-json   build   header nlohmann/json.hpp
libcli11-dev         cli11           build   header CLI/CLI.hpp
libutf8proc-dev      utf8proc        build   header utf8proc.h
libpcre2-dev        pcre2           build   header pcre2.h
libboost1.81-dev    boost           build   header boost/beast/http/parser.hpp
curl                 -               fetch   program curl
ca-certificates      -               fetch   certificates
ccache               ccache          speed   program ccache
mold                 -               speed   program mold
libgtest-dev         googletest      test    header gtest/gtest.h
python3              python          test    program python3
python3-venv         -               test    python ensurepip
clang-format         -               format  program clang-format
chromium             -               page    program chromium
chromium-driver      -               page    program chromedriver
tmux                 tmux            terminal program tmux
END
}

least_cmake=3.25
least_gcc=12
least_clang=16

compiler() { printf '%s' "${CXX:-c++}"; }

# What installs packages here: apt, brew, or nothing we know.
package_manager() {
  if command -v apt-get >/dev/null 2>&1; then echo apt
  elif command -v brew >/dev/null 2>&1; then echo brew
  else echo none; fi
}

# Names the headers among the arguments that the compiler cannot find; one run of the preprocessor for all of them.
headers_not_found() {
  local header
  if command -v "$(compiler)" >/dev/null 2>&1; then
    for header in "$@"; do printf '#if !__has_include(<%s>)\nanedvd_lacks %s\n#endif\n' "$header" "$header"; done |
      "$(compiler)" -E -P -x c++ - 2>/dev/null | sed -n 's/^anedvd_lacks //p' | tr -d ' '
  else
    for header in "$@"; do [ -e "/usr/include/$header" ] || echo "$header"; done
  fi
}

# lacking NEEDED…: sets `lacking` to the package names of this system that are not there yet, among rows needed for one of NEEDED.
lacking=()
lacking() {
  local manager debian homebrew needed kind what name headers=() absent
  manager=$(package_manager)
  while read -r debian homebrew needed kind what; do
    [ "$kind" = header ] && headers+=("$what")
  done < <(package_table)
  absent=" $(headers_not_found "${headers[@]}" | tr '\n' ' ')"
  lacking=()
  while read -r debian homebrew needed kind what; do
    case $debian in '#'*) continue ;; esac
    case " $* " in *" $needed "*) ;; *) continue ;; esac
    name=$debian
    if [ "$manager" = brew ]; then name=$homebrew; fi
    case $kind in
      compiler) command -v "$(compiler)" >/dev/null 2>&1 && continue ;;
      program) command -v "$what" >/dev/null 2>&1 && continue ;;
      header) case $absent in *" $what "*) ;; *) continue ;; esac ;;
      python) python3 -c "import $what" >/dev/null 2>&1 && continue ;;
      certificates) [ -e /etc/ssl/certs/ca-certificates.crt ] || [ -e /etc/pki/tls/certs/ca-bundle.crt ] ||
        [ -e /etc/ssl/cert.pem ] && continue ;;
    esac
    if [ "$name" = - ]; then
      [ "$kind" = compiler ] && name=xcode-command-line-tools || continue
    fi
    lacking+=("$name")
  done < <(package_table)
  return 0
}

# install_packages NAME…: installs them, says what; the output goes to a log. Returns non-zero with `reason` set when it cannot.
reason=
install_packages() {
  local log="$logs/install.log" manager as_root=()
  manager=$(package_manager)
  case " $* " in
    *" xcode-command-line-tools "*) reason="no C++ compiler; run: xcode-select --install"; return 1 ;;
  esac
  if [ "$install" = no ]; then reason="missing: $*; leave out --no-install, or run: $(install_command "$@")"; return 1; fi
  if [ "$manager" = none ]; then
    reason="missing (Debian's names): $*; this system has neither apt-get nor brew, install them its own way"; return 1
  fi
  if [ "$manager" = apt ] && [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
      reason="missing: $*; installing needs root and there is no sudo here, ask for: $(install_command "$@")"; return 1
    fi
    as_root=(sudo)
    # Nobody to type a password: fail at once instead of waiting.
    [ -t 0 ] && [ -t 2 ] || as_root=(sudo -n)
  fi
  say_step tools "installing with $manager: $*"
  mkdir -p "$logs" || { reason="cannot write to $build; free some space or change its owner"; return 1; }
  if [ "$manager" = apt ]; then
    # One wait for another running apt (a fresh cloud machine updates itself) rather than a failure.
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -q)
    ${as_root[@]+"${as_root[@]}"} "${apt[@]}" update >"$log" 2>&1
    ${as_root[@]+"${as_root[@]}"} "${apt[@]}" install -y --no-install-recommends "$@" >>"$log" 2>&1 && return 0
  else
    HOMEBREW_NO_AUTO_UPDATE=1 brew install "$@" >"$log" 2>&1 && return 0
  fi
  show_log "$log"
  reason="installing did not work; look into the lines above, or run yourself: $(install_command "$@")"
  return 1
}

install_command() {
  case $(package_manager) in
    brew) echo "brew install $*" ;;
    *) if [ "$(id -u)" = 0 ]; then echo "apt-get install $*"; else echo "sudo apt-get install $*"; fi ;;
  esac
}

# Puts Homebrew's headers and libraries where the compiler and CMake look.
use_homebrew() {
  command -v brew >/dev/null 2>&1 || return 0
  local prefix; prefix=$(brew --prefix)
  export CPATH="$prefix/include${CPATH:+:$CPATH}" LIBRARY_PATH="$prefix/lib${LIBRARY_PATH:+:$LIBRARY_PATH}"
}

# at_least HAVE WANTED: compares dotted versions.
at_least() {
  [ "$(printf '%s\n%s\n' "$2" "$1" | sort -t. -k1,1n -k2,2n -k3,3n | head -n 1)" = "$2" ]
}

# tools NEEDED…: everything there or installed, new enough; sets `versions`. Returns non-zero with `reason`.
# Rows for quicker builds are installed along, but only when something has to be installed anyway.
versions=
installed=no
tools() {
  local kind=g++ found
  use_homebrew
  lacking "$@"
  if [ ${#lacking[@]} -gt 0 ]; then
    [ "$install" = yes ] && lacking "$@" speed
    install_packages "${lacking[@]}" || return 1
    installed=yes
    lacking "$@"
    if [ ${#lacking[@]} -gt 0 ]; then reason="still missing after the installation: ${lacking[*]}"; return 1; fi
  fi
  found=$("$(compiler)" -dumpfullversion -dumpversion 2>/dev/null | head -n 1)
  if "$(compiler)" --version 2>/dev/null | grep -qi clang; then kind=clang; fi
  versions="$kind ${found%.*}"
  case $kind in
    g++) at_least "$found" $least_gcc || { reason="g++ $found is too old; $least_gcc or newer is needed (CXX names another)"; return 1; } ;;
    clang) at_least "$found" $least_clang || { reason="clang $found is too old; $least_clang or newer is needed (CXX names another)"; return 1; } ;;
  esac
  found=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
  at_least "$found" $least_cmake || { reason="cmake $found is too old; $least_cmake or newer is needed"; return 1; }
  versions="$versions $dot cmake ${found%.*}"
  found=$(ninja --version 2>/dev/null)
  versions="$versions $dot ninja ${found%.*}"
}

# ---- build folders ----------------------------------------------------------------------------------------------------------------

cache_value() { sed -n "s/^$2:[^=]*=//p" "$1/CMakeCache.txt" 2>/dev/null | head -n 1; }

# Prints why this build folder cannot be used as it is; nothing when it can.
stale_because() {
  local folder=$1 value
  [ -e "$folder/CMakeCache.txt" ] || return 0
  value=$(cache_value "$folder" CMAKE_HOME_DIRECTORY)
  [ "$value" -ef "$root" ] || { echo "it was made for ${value:-another folder}"; return 0; }
  value=$(cache_value "$folder" CMAKE_CACHEFILE_DIR)
  [ "$value" -ef "$folder" ] || { echo "it was moved here from ${value:-elsewhere}"; return 0; }
  value=$(cache_value "$folder" CMAKE_GENERATOR)
  [ "$value" = Ninja ] || { echo "it was made for ${value:-another generator}, not for Ninja"; return 0; }
  value=$(cache_value "$folder" CMAKE_CXX_COMPILER)
  [ -n "$value" ] && { [ -x "$value" ] || command -v "$value" >/dev/null 2>&1; } ||
    { echo "its compiler ${value:-} is gone"; return 0; }
  value=$(cache_value "$folder" CMAKE_COMMAND)
  [ -x "$value" ] || { echo "its cmake ${value:-} is gone"; return 0; }
}

# Makes the folder usable: one that another path, generator or compiler made is emptied (the folder itself stays: it may be a link).
fresh_folder() {
  local folder=$1 why
  if [ -e "$folder" ] && [ ! -d "$folder" ]; then reason="$folder is a file; move it away"; return 1; fi
  why=$(stale_because "$folder")
  if [ -n "$why" ]; then
    say_step build "emptying the old ${folder##*/}/: $why"
    find -H "$folder" -mindepth 1 -delete 2>/dev/null || { reason="cannot empty $folder; remove it by hand"; return 1; }
  fi
  mkdir -p "$logs" 2>/dev/null && : 2>/dev/null >"$logs/.write" && rm -f "$logs/.write" ||
    { reason="cannot write to $build ($(free_mb "$root") MB free there); free some space or change its owner"; return 1; }
}

# Compilations at a time: one a core, fewer where memory is short (a heavy file takes about 0.7 GB).
jobs() {
  local cores memory_mb
  cores=$(nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
  memory_mb=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo 2>/dev/null)
  if [ -n "$memory_mb" ] && [ $((memory_mb / 700)) -lt "$cores" ]; then cores=$((memory_mb / 700)); fi
  [ "$cores" -ge 1 ] || cores=1
  echo "$cores"
}

free_mb() { df -Pk "$1" 2>/dev/null | awk 'NR == 2 {print int($4 / 1024)}'; }

# The sentence for a failed build: the usual causes told apart.
build_advice() {
  local log=$1 free; free=$(free_mb "$root")
  if grep -q 'No space left on device' "$log" 2>/dev/null || [ "${free:-1000}" -lt 5 ]; then
    echo "the disk that holds $root is full (${free:-?} MB free); free some space and run the same command again"
  elif grep -qE 'Killed signal|fatal error: Killed|virtual memory exhausted|cannot allocate memory' "$log" 2>/dev/null; then
    echo "the compiler ran out of memory; close other programs and run the same command again, it goes on where it stopped"
  else
    echo "the build failed; the lines above say where. An untouched checkout should build: remove build/ and try again"
  fi
}

# ---- step lines -------------------------------------------------------------------------------------------------------------------

on_terminal=no
[ -t 2 ] && [ "${TERM:-dumb}" != dumb ] && on_terminal=yes
dim= bold= plain=
if [ $on_terminal = yes ] && [ -z "${NO_COLOR:-}" ]; then dim=$'\e[2m' bold=$'\e[1m' plain=$'\e[0m'; fi
dot='·' bar_full='━' bar_tip='╸' bar_empty='━'
[ -n "$dim" ] || bar_empty=' '
case "${LC_ALL:-${LC_CTYPE:-${LANG:-}}}" in
  *UTF-8* | *utf8* | *UTF8* | *utf-8*) ;;
  *) dot=',' bar_full='=' bar_tip='>' bar_empty=' ' ;;
esac

# Microseconds; whole seconds where bash is older than 5.
now() { if [ -n "${EPOCHREALTIME:-}" ]; then echo "${EPOCHREALTIME/[.,]/}"; else echo "$(date +%s)000000"; fi; }

# took START: the time since then as a person reads it, 0.3 s or 1:04.
took() {
  local tenths=$((($(now) - $1 + 50000) / 100000))
  if [ $tenths -ge 600 ]; then printf '%d:%02d' $((tenths / 600)) $((tenths / 10 % 60))
  else printf '%d.%d s' $((tenths / 10)) $((tenths % 10)); fi
}

step=0
begin_step() { step=$((step + 1)); step_start=$(now); }

# say_step NAME TEXT: one line that stays.
say_step() { clear_bar; printf '%s[%d/%d]%s %s\n' "$bold" "$step" "$total" "$plain" "${2:+$(printf '%-8s ' "$1")}${2:-$1}" >&2; }

# end_step NAME TEXT: the finished line, with the time it took.
end_step() { clear_bar; printf '%s[%d/%d]%s %-8s %-44s  ok %7s\n' "$bold" "$step" "$total" "$plain" "$1" "$2" "$(took "$step_start")" >&2; }

# A bar is only for a terminal and only after half a second; it is redrawn in place and leaves nothing behind.
bar_shown=no
draw_bar() {
  local name=$1 done_=$2 of=$3 unit=$4 filled bar= i
  [ $on_terminal = yes ] || return 0
  [ $(($(now) - step_start)) -ge 500000 ] || return 0
  filled=$((of > 0 ? done_ * 40 / of : 0))
  for ((i = 0; i < filled; i++)); do bar+=$bar_full; done
  [ $filled -lt 40 ] && bar+=$bar_tip$dim
  for ((i = filled + 1; i < 40; i++)); do bar+=$bar_empty; done
  printf '\r\e[K%s[%d/%d]%s %-8s %s%s  %d/%d %s  %s' "$bold" "$step" "$total" "$plain" "$name" "$bar" "$plain" \
    "$done_" "$of" "$unit" "$(took "$step_start")" >&2
  bar_shown=yes
}
clear_bar() { if [ $bar_shown = yes ]; then printf '\r\e[K' >&2; bar_shown=no; fi; }

# The last lines of a log and where it lies.
show_log() {
  clear_bar
  [ -s "$1" ] && { tail -n "${2:-15}" "$1" | sed 's/^/    /' >&2; printf 'full log: %s\n' "$1" >&2; }
}

# run_ninja NAME LOG ninja-arguments…: builds, draws the bar, elsewhere one line at the start and one every 10 s.
# Sets `built` to how many files were made.
built=0
run_ninja() {
  local name=$1 log=$2 line finished=0 all=0 told=0 status
  shift 2
  exec 3>>"$log" || return 1
  built=0
  while IFS= read -r line; do
    case $line in
      'exit status '*) status=${line#exit status }; continue ;;
    esac
    printf '%s\n' "$line" >&3 2>/dev/null
    case $line in
      *'Re-checking globbed directories'* | *'Re-running CMake'*) continue ;;
    esac
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\  ]] || continue
    finished=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]} built=$finished
    if [ $on_terminal = yes ]; then draw_bar "$name" "$finished" "$all" files
    elif [ $told = 0 ]; then told=$(now); say_step "$name" "$all files"
    elif [ $(($(now) - told)) -ge 10000000 ]; then told=$(now); say_step "$name" "$finished/$all files  $(took "$step_start")"; fi
  done < <(NINJA_STATUS='[%f/%t] ' ninja "$@" 2>&1; echo "exit status $?")
  exec 3>&-
  clear_bar
  return "${status:-1}"
}
