#!/usr/bin/env bash
# installed_consumer.sh SOURCE BUILD SANITIZERS [LAUNCHER]
# Installs the library of a build tree into an empty prefix and uses it from outside the source
# tree: every header alone, components one by one, and three examples under sanitizers.
set -euo pipefail
source_dir=$1 build_dir=$2 sanitizers=$3 launcher=${4:-}
work=$(mktemp -d)
server= database=
finish() {
  if [[ -n $server ]]; then kill "$server" 2>/dev/null || true; fi
  if [[ -n $database ]]; then
    local input=${DATABASE[1]}
    exec {input}>&-
    wait "$database" || true
  fi
  rm -rf "$work"
}
trap finish EXIT
prefix=$work/prefix

fail() { echo "FAILED: $*" >&2; exit 1; }
configure() { # FOLDER ARGUMENTS...
  local folder=$1
  shift
  cmake -S "$work/src/$folder" -B "$work/build/$folder" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" "$@" >"$work/log" 2>&1
}
build() { # FOLDER ARGUMENTS...
  configure "$@" || { cat "$work/log"; fail "$1 does not configure"; }
  cmake --build "$work/build/$1" -j2 >"$work/log" 2>&1 || { cat "$work/log"; fail "$1 does not build"; }
}

cmake --install "$build_dir" --component library --prefix "$prefix" >/dev/null
mkdir "$work/src"
cp -r "$source_dir"/examples/{embed-beast,embed-blocking,orders-cpp} \
  "$source_dir"/tests/package/{headers,components} \
  "$work/src"

echo "headers: each compiles alone, none shows a client library"
build headers -DPACKAGE_PREFIX="$prefix"
if grep -rlE '#include <(sqlite3|libpq-fe)\.h>' "$prefix/include"; then
  fail "an installed header includes a client library"
fi
if grep -rl '#include <boost/beast' "$prefix/include" | grep -v /adapters/beast/; then
  fail "Beast shows outside its adapter"
fi

echo "components: a component looks for its own dependencies only"
configure components -DCOMPONENT=beast -DCMAKE_DISABLE_FIND_PACKAGE_SQLite3=ON ||
  { cat "$work/log"; fail "beast needs more than it should"; }
rm -rf "$work/build/components"
for pair in sqlite:SQLite3 postgres:PostgreSQL; do
  if configure components "-DCOMPONENT=${pair%:*}" "-DCMAKE_DISABLE_FIND_PACKAGE_${pair#*:}=ON"; then
    fail "${pair%:*} was found without ${pair#*:}"
  fi
  rm -rf "$work/build/components"
done
configure components -DCOMPONENT=sqlite -DCMAKE_DISABLE_FIND_PACKAGE_PostgreSQL=ON ||
  { cat "$work/log"; fail "sqlite needs more than it should"; }
rm -rf "$work/build/components"
if configure components -DCOMPONENT=nonsense; then fail "an unknown component was found"; fi
grep -q "no component 'nonsense'" "$work/log" || fail "the message does not name the component"

post() { # PATH KEY BODY
  curl --silent --show-error --max-time 10 --include --data "$3" -H 'X-Account: anna' \
    -H "Idempotency-Key: $2" "http://127.0.0.1:$port$1" | tr -d '\r'
}
expect() { grep -q "$2" <<<"$1" || fail "no '$2' in: $1"; }

smoke() { # PROGRAM PATH COUNT-EFFECTS ARGUMENTS...
  local program=$1 path=$2 effects=$3
  shift 3
  echo "$program: two identical requests, one effect"
  build "$program" -DCMAKE_CXX_FLAGS="-fsanitize=$sanitizers -g1"
  "$work/build/$program/$program" "$@" >"$work/$program.out" 2>"$work/$program.err" &
  server=$!
  for _ in $(seq 100); do
    if grep -q listening "$work/$program.out"; then break; fi
    sleep 0.1
  done
  port=$(sed -n 's/^listening on 127.0.0.1://p' "$work/$program.out")
  [[ -n $port ]] || { cat "$work/$program.err"; fail "$program did not start"; }

  local first second changed
  first=$(post "$path" k1 700)
  second=$(post "$path" k1 700)
  changed=$(post "$path" k1 701)
  expect "$first" '^HTTP/1.1 201'
  expect "$second" '^HTTP/1.1 201'
  expect "$second" '^Idempotent-Replayed: true'
  expect "$changed" '^HTTP/1.1 422'
  if grep -q Idempotent-Replayed <<<"$first"; then fail "the first answer is marked as a replay"; fi
  [[ ${first##*$'\n'} == "${second##*$'\n'}" ]] || fail "the bodies differ: $first $second"
  [[ $("$effects" "$program") == 1 ]] || fail "not one effect: $(cat "$work/$program.out")"

  kill -TERM "$server"
  wait "$server" || { cat "$work/$program.err"; fail "$program ended with $?"; }
  server=
}
charged() { grep -c '^charged ' "$work/$1.out"; }
refunded() { grep -c '^refunded ' "$work/$1.out"; }
ordered() { psql "$url" -At -c 'select count(*) from orders'; }
smoke embed-beast /v1/charges charged 0 "$work/embed-beast.db"
smoke embed-blocking /v1/refunds refunded 0 "$work/embed-blocking.db"

coproc DATABASE { exec "$build_dir/tests/support/postgres_for_tests"; }
database=$DATABASE_PID
read -r url <&"${DATABASE[0]}"
psql "$url" -q -c 'create table orders (id bigint generated always as identity, account text, note text)'
smoke orders-cpp /v1/orders ordered "$url" 0
echo "package: all passed"
