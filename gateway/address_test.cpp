#include <gateway/address.hpp>
#include <gtest/gtest.h>

namespace callonce::gateway {
namespace {

endpoint read(const endpoint_or_mistake& from) {
  if (const auto* mistake = std::get_if<std::string>(&from)) ADD_FAILURE() << *mistake;
  const auto* found = std::get_if<endpoint>(&from);
  return found ? *found : endpoint{};
}

TEST(address, listeners_are_numeric_addresses_with_a_port_or_sockets) {
  EXPECT_EQ(to_text(read(parse_listener("127.0.0.1:8080"))), "127.0.0.1:8080");
  EXPECT_EQ(to_text(read(parse_listener("[::1]:0"))), "[::1]:0");
  EXPECT_EQ(to_text(read(parse_listener("unix:/run/c.sock"))), "unix:/run/c.sock");
  for (const char* text : {"", "8080", "localhost:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                           "127.0.0.1:-1", "::1:80", "[::1]80", "unix:", "127.0.0.1:80x"}) {
    EXPECT_TRUE(std::holds_alternative<std::string>(parse_listener(text))) << text;
  }
}

TEST(address, upstreams_are_http_origins_or_sockets) {
  EXPECT_EQ(to_text(read(parse_upstream("http://api"))), "api:80");
  EXPECT_EQ(to_text(read(parse_upstream("http://api.internal:9000/"))), "api.internal:9000");
  EXPECT_EQ(to_text(read(parse_upstream("http://[::1]:9000"))), "[::1]:9000");
  EXPECT_EQ(read(parse_upstream("unix:app.sock")).path, "app.sock");
  for (const char* text : {"", "api:80", "http://", "http://:80", "http://a b", "http://a:0",
                           "http://a:99999", "http://a/base", "http://u:p@a", "ftp://a"}) {
    EXPECT_TRUE(std::holds_alternative<std::string>(parse_upstream(text))) << text;
  }
  const auto tls = parse_upstream("https://api");
  ASSERT_TRUE(std::holds_alternative<std::string>(tls));
  EXPECT_NE(std::get<std::string>(tls).find("TLS ends in front"), std::string::npos);
}

TEST(address, listeners_collide_by_port_and_overlapping_address) {
  const auto at = [](const char* text) { return read(parse_listener(text)); };
  EXPECT_TRUE(collide(at("127.0.0.1:80"), at("127.0.0.1:80")));
  EXPECT_TRUE(collide(at("0.0.0.0:80"), at("127.0.0.1:80")));
  EXPECT_TRUE(collide(at("unix:/a"), at("unix:/a")));
  EXPECT_FALSE(collide(at("127.0.0.1:80"), at("127.0.0.2:80")));
  EXPECT_FALSE(collide(at("127.0.0.1:80"), at("127.0.0.1:81")));
  EXPECT_FALSE(collide(at("127.0.0.1:0"), at("127.0.0.1:0")));
  EXPECT_FALSE(collide(at("unix:/a"), at("127.0.0.1:80")));
}

TEST(address, hops_are_addresses_networks_or_sockets) {
  hop_list hops;
  EXPECT_TRUE(hops.empty());
  ASSERT_TRUE(hops.add("10.1.2.3"));
  ASSERT_TRUE(hops.add("192.168.16.0/20"));
  ASSERT_TRUE(hops.add("fd00::/8"));
  EXPECT_TRUE(hops.contains("10.1.2.3"));
  EXPECT_TRUE(hops.contains("::ffff:10.1.2.3"));
  EXPECT_TRUE(hops.contains("192.168.31.255"));
  EXPECT_TRUE(hops.contains("fdab::1"));
  EXPECT_FALSE(hops.contains("10.1.2.4"));
  EXPECT_FALSE(hops.contains("192.168.32.0"));
  EXPECT_FALSE(hops.contains("fe00::1"));
  EXPECT_FALSE(hops.contains("unix"));
  ASSERT_TRUE(hops.add("unix"));
  EXPECT_TRUE(hops.contains("unix"));
  for (const char* text : {"", "10.0.0.0/33", "10.0.0.0/-1", "fd00::/129", "host", "10.0.0.0/x"}) {
    EXPECT_FALSE(hop_list{}.add(text)) << text;
  }
}

}  // namespace
}  // namespace callonce::gateway
