// Full disks, standbys and failovers, TLS: what a store does when its server is not what it was.

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <tests/support/postgres_shop.hpp>

namespace callonce::postgres {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
namespace fs = std::filesystem;

// How long a store may take to find its way after a failover, on a busy machine.
constexpr auto patience = 60s;

options one_lane() {
  options with;
  with.lanes = 1;
  with.timeout = 3s;
  return with;
}

std::string refusal(const std::string& url) {
  try {
    const store none{url, one_lane()};
    return "it started";
  } catch (const misconfigured& why) {
    return why.what();
  }
}

// Claims fresh keys until one is won.
bool recovers(store& records, const std::string& prefix) {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (int tries = 0; std::chrono::steady_clock::now() < end; ++tries) {
    if (wait_for(records.claim(wish_of(prefix + std::to_string(tries))))) return true;
  }
  return false;
}

void expect_all_there(store& records, const std::vector<claim_request>& acknowledged) {
  for (const claim_request& each : acknowledged) {
    const auto done = wait_for(records.complete(fence_of(each), answer_of("x")));
    ASSERT_TRUE(done.has_value());
    EXPECT_EQ(done->verdict, write_verdict::done) << each.id.key().bytes();
  }
}

// A file system of its own; none where this user may not mount.
class small_disk {
 public:
  explicit small_disk(const std::string& size) {
    std::string name = (fs::temp_directory_path() / "callonce-disk-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no temporary folder"};
    folder_ = name;
    mounted_ = mount("tmpfs", name.c_str(), "tmpfs", 0, ("mode=0755,size=" + size).c_str()) == 0;
    postgres_server::give(folder_);
  }
  ~small_disk() {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;

  bool mounted() const { return mounted_; }
  const fs::path& folder() const { return folder_; }
  /// Takes all space but this, until `make_room`.
  void leave(std::uint64_t bytes) const {
    struct statvfs is {};
    statvfs(folder_.c_str(), &is);
    const std::uint64_t free = is.f_bavail * is.f_frsize;
    std::ofstream ballast{folder_ / "ballast", std::ios::binary};
    const std::string block(std::size_t{64} << 10, 'x');
    for (std::uint64_t left = free; left > bytes + block.size(); left -= block.size()) {
      ballast << block;
    }
  }
  void make_room() const { fs::remove(folder_ / "ballast"); }

 private:
  fs::path folder_;
  bool mounted_ = false;
};

// Claims keys until the store says that it cannot. Post: those that it has acknowledged.
std::vector<claim_request> claim_until_full(store& records, std::error_code& why) {
  std::vector<claim_request> acknowledged;
  for (int each = 0; each < 50'000; ++each) {
    const claim_request wish = wish_of("until full " + std::to_string(each));
    const auto met = wait_for(records.claim(wish));
    if (!met) {
      why = met.error();
      break;
    }
    EXPECT_EQ(met->verdict, claim_verdict::claimed);
    acknowledged.push_back(wish);
  }
  return acknowledged;
}

TEST(postgres_place, K20_X18_a_full_disk_is_no_success_and_forgets_none) {
  const small_disk disk{"8m"};
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small file system";
  postgres_server own;
  migrate(own.url());
  postgres_client admin{own.url()};
  admin.ask("create tablespace small location '" + disk.folder().string() + "'");
  for (const char* each :
       {"table callonce.record", "table callonce.answer", "index callonce.record_key",
        "index callonce.record_in_order", "index callonce.answer_pkey"}) {
    admin.ask("alter "s + each + " set tablespace small");
  }
  store records{own.url(), one_lane()};
  disk.leave(256 << 10);
  std::error_code why;
  const auto acknowledged = claim_until_full(records, why);
  EXPECT_EQ(why, make_error_code(errc::unavailable));
  EXPECT_FALSE(acknowledged.empty());
  disk.make_room();
  EXPECT_TRUE(recovers(records, "after "));
  expect_all_there(records, acknowledged);
}

// Where the log itself cannot be written the server gives up altogether.
TEST(postgres_place, K20_X18_a_full_disk_under_the_log_forgets_nothing_acknowledged) {
  const small_disk disk{"160m"};
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small file system";
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "/tmp";
  setenv("TMPDIR", disk.folder().c_str(), 1);
  postgres_server own;
  setenv("TMPDIR", kept.c_str(), 1);
  migrate(own.url());
  store records{own.url(), one_lane()};
  std::vector<claim_request> acknowledged;
  for (int each = 0; each < 20; ++each) {
    acknowledged.push_back(wish_of("before " + std::to_string(each)));
    ASSERT_EQ(wait_for(records.claim(acknowledged.back()))->verdict, claim_verdict::claimed);
  }
  disk.leave(1 << 20);
  {
    postgres_client admin{own.url()};
    std::string said = "00000";
    for (int files = 0; files < 40 && said == "00000"; ++files) {
      said = admin.attempt("create table filled (); drop table filled; select pg_switch_wal()");
    }
    EXPECT_NE(said, "00000") << "the server has given up";
  }
  EXPECT_FALSE(wait_for(records.claim(wish_of("while full"))).has_value());
  disk.make_room();
  own.start();
  EXPECT_TRUE(recovers(records, "after "));
  expect_all_there(records, acknowledged);
}

// D-PG4, C84: every decision is the primary's.
TEST(postgres_place, DPG4_C84_a_failover_is_followed_and_the_left_behind_primary_refused) {
  postgres_server primary;
  migrate(primary.url());
  postgres_server standby{postgres_server::following{primary}};
  postgres_client{primary.url()}.ask("alter system set synchronous_standby_names = '*'");
  postgres_client{primary.url()}.ask("select pg_reload_conf()");

  const std::string alone = refusal(standby.url());
  EXPECT_NE(alone.find("hot standby"), std::string::npos) << alone;

  const std::string both = "host=127.0.0.1,127.0.0.1 port=" + std::to_string(standby.port()) + "," +
                           std::to_string(primary.port()) + " user=postgres dbname=postgres";
  store records{both, one_lane()};
  std::vector<claim_request> acknowledged;
  for (int each = 0; each < 20; ++each) {
    acknowledged.push_back(wish_of("before " + std::to_string(each)));
    ASSERT_EQ(wait_for(records.claim(acknowledged.back()))->verdict, claim_verdict::claimed);
  }

  primary.kill();
  postgres_client{standby.url()}.ask("select pg_promote()");
  EXPECT_TRUE(recovers(records, "after the failover "));
  expect_all_there(records, acknowledged);

  // The old primary is back, without knowing what has happened, and the new one is away.
  primary.start();
  standby.stop();
  postgres_client old{primary.url()};
  old.ask("alter system reset synchronous_standby_names");
  old.ask("select pg_reload_conf()");
  EXPECT_EQ(refusal(primary.url()), "it started") << "for who does not know of the failover";
  EXPECT_FALSE(wait_for(records.claim(wish_of("lost"))).has_value());
  EXPECT_FALSE(wait_for(records.claim(wish_of("lost as well"))).has_value());
  EXPECT_EQ(old.ask("select 1 from callonce.record where key like 'lost%'").size(), 0u);
  standby.start();
  EXPECT_TRUE(recovers(records, "after its return "));
}

// An effect and its key in one transaction, as in class atomic.
std::string order_once(const std::string& url, const claim_request& wish) {
  postgres_client in{url};
  in.ask("begin");
  in.ask(insert_of(wish));
  in.ask("insert into orders (note) values ('" + std::string{wish.id.key().bytes()} + "')");
  return in.attempt("commit");
}

// A server that was left behind, or a backup that is put back: whatever it has forgotten of the
// keys it has forgotten of the effects too, so that each is there once after a retry.
TEST(postgres_place, K21_K22_K30_what_a_failover_forgets_it_forgets_of_effect_and_key_alike) {
  postgres_server primary;
  migrate(primary.url());
  postgres_client{primary.url()}.ask("create table orders (note text)");
  postgres_server standby{postgres_server::following{primary}};
  ASSERT_EQ(order_once(primary.url(), wish_of("known")), "00000");
  const std::string reached = postgres_client{primary.url()}.ask("select pg_current_wal_lsn()")[0];
  const std::string caught_up =
      "select 1 where pg_last_wal_replay_lsn() >= '" + reached + "'::pg_lsn";
  while (postgres_client{standby.url()}.ask(caught_up).empty()) {
  }
  standby.kill();
  ASSERT_EQ(order_once(primary.url(), wish_of("forgotten")), "00000");
  primary.kill();
  standby.start();
  postgres_client now{standby.url()};
  now.ask("select pg_promote()");

  EXPECT_EQ(now.ask("select note from orders"), std::vector<std::string>{"known"});
  EXPECT_EQ(order_once(standby.url(), wish_of("forgotten")), "00000");
  EXPECT_THROW(order_once(standby.url(), wish_of("known")), std::runtime_error);
  EXPECT_EQ(now.ask("select note from orders order by note"),
            (std::vector<std::string>{"forgotten", "known"}));
}

// A certificate of its own for localhost, made by openssl.
struct certificate {
  explicit certificate(const fs::path& folder, const std::string& name)
      : chain(folder / (name + ".crt")), key(folder / (name + ".key")) {
    const std::string make =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        "-subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout '" +
        key.string() + "' -out '" + chain.string() + "' 2> /dev/null";
    if (std::system(make.c_str()) != 0) throw std::runtime_error{"openssl makes no certificate"};
    fs::permissions(key, fs::perms{0600});
    postgres_server::give(key);
  }
  fs::path chain;
  fs::path key;
};

TEST(postgres_place, servers_are_known_by_their_certificates) {
  std::string folder = (fs::temp_directory_path() / "callonce-tls-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  fs::permissions(folder, fs::perms{0755});
  const certificate right{folder, "right"};
  const certificate wrong{folder, "wrong"};
  {
    const postgres_server own{{"ssl = on", "ssl_cert_file = '" + right.chain.string() + "'",
                               "ssl_key_file = '" + right.key.string() + "'"}};
    const auto url = [&](const fs::path& root) {
      return "postgres://postgres:s3cret@localhost:" + std::to_string(own.port()) +
             "/postgres?sslmode=verify-full&sslrootcert=" + root.string();
    };
    migrate(own.url());
    store records{url(right.chain), one_lane()};
    EXPECT_EQ(wait_for(records.claim(wish_of("k")))->verdict, claim_verdict::claimed);
    EXPECT_EQ(postgres_client{own.url()}.ask("select distinct ssl from pg_stat_ssl join "
                                             "pg_stat_activity using (pid) where "
                                             "backend_type = 'client backend' and "
                                             "pid <> pg_backend_pid()"),
              std::vector<std::string>{"t"});

    const std::string stranger = refusal(url(wrong.chain));
    EXPECT_NE(stranger.find("certificate verify failed"), std::string::npos) << stranger;
    EXPECT_EQ(stranger.find("s3cret"), std::string::npos) << stranger;
  }
  const std::string plain = refusal(
      "postgres://postgres:s3cret@127.0.0.1:" + std::to_string(postgres_server::shared().port()) +
      "/postgres?sslmode=require");
  EXPECT_NE(plain.find("SSL"), std::string::npos) << plain;
  EXPECT_EQ(plain.find("s3cret"), std::string::npos) << plain;
  fs::remove_all(folder);
}

}  // namespace
}  // namespace callonce::postgres
