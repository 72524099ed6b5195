# shellcheck shell=bash disable=SC2034,SC2154 # what the scripts use and set
# Sourced: memcached and others out of Debian's packages, of a suite that the machine need not run.
# The script that sources this has `fail`, and $state, a directory of its own for apt's files.

# The memcached of the templates, and the suites of Debian to find it in.
templates_memcached=(1.6.45 "forky sid")

# apt_of SUITE: let apt-get see that suite of Debian, in a state of its own.
apt_of() {
  local of=$state/$1 codename mirror
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mkdir -p "$of"/{lists,archives}/partial
  mirror=$(APT_CONFIG='' apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Release: $codename" | head -n 1)
  [ -n "$mirror" ] || fail "apt names no source of $codename to find Debian's mirror by"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main" > "$of/sources.list"
  cat > "$of/apt.conf" <<-END
	Dir::State::lists "$of/lists";
	Dir::State::status "/dev/null";
	Dir::Cache "$of";
	Dir::Etc::sourcelist "$of/sources.list";
	Dir::Etc::sourceparts "-";
	APT::Sandbox::User "root";
	END
  export APT_CONFIG=$of/apt.conf
  apt-get -qq update
}

# newer VERSION THAN: VERSION is THAN, or later.
newer() { [ "$(printf '%s\n' "$@" | sort --version-sort | head -n 1)" = "$2" ]; }

# unpack_memcached VERSION "SUITE…" [PACKAGE…]: unpack memcached of that version, the packages
# and all libraries into the working directory, from the first suite that has it or, since
# Debian moves on, a later one, which takes its place in tests. Sets has, its version.
unpack_memcached() {
  local suite found=()
  for suite in $2; do
    apt_of "$suite"
    has=$(apt-cache show memcached | sed -n 's/^Version: \([^-]*\).*/\1/p' | head -n 1)
    found+=("$suite $has")
    ! newer "${has:-0}" "$1" || break
  done
  newer "${has:-0}" "$1" || fail "no suite of Debian has memcached $1 or later (${found[*]})"
  [ "$has" = "$1" ] || echo "${0##*/}: Debian's memcached is $has by now: it stands in for $1"

  unpack_packages memcached "${@:3}"
  rm -rf usr/share var usr/lib/systemd usr/lib/*/gconv etc/init.d etc/default
}

# unpack_packages PACKAGE…: unpack these and all libraries that they need into the working
# directory, from the suite that apt_of was called with.
unpack_packages() {
  local libraries deb
  # The libraries, and theirs; not perl and adduser, which only the packages' scripts need.
  libraries=$(apt-cache depends --important "$@" | sed -n 's/^ *\(Pre\)\?Depends: \(lib.*\)/\2/p' | grep -v ^libjs-)
  libraries=$(apt-cache depends --important --recurse $libraries | grep -E '^z?lib')
  mkdir -p debs usr/{bin,lib,lib64,sbin}
  ln -s usr/{bin,lib,lib64,sbin} .
  (cd debs && apt-get -qq download "$@" $libraries)
  for deb in debs/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -x --no-same-owner --keep-directory-symlink; done
  rm -rf debs
}
