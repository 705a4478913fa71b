#include <initializer_list>
#include <stdexcept>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include <callonce/core/scope.hpp>

namespace callonce {
namespace {

request carrying(std::initializer_list<field> lines) {
  header_list headers;
  for (const field& line : lines) headers.add(line.name, line.value);
  return request{"POST", "/e", std::move(headers)};
}

using derived = std::variant<scope_hash, scope_fault>;

scope_hash scope_of(const scope_rule& rule, const request& from) {
  const derived found = rule.derive(from);
  EXPECT_TRUE(std::holds_alternative<scope_hash>(found)) << rule.text();
  const auto* hash = std::get_if<scope_hash>(&found);
  return hash != nullptr ? *hash : scope_hash{};
}

TEST(Scope, A01TenantsNeverShareAScope) {
  const scope_rule rule{"header:X-Api-Key"};
  EXPECT_EQ(scope_of(rule, carrying({{"X-Api-Key", "t1"}})),
            scope_of(rule, carrying({{"x-api-key", "t1"}, {"User-Agent", "other"}})));
  EXPECT_NE(scope_of(rule, carrying({{"X-Api-Key", "t1"}})),
            scope_of(rule, carrying({{"X-Api-Key", "t2"}})));
}

TEST(Scope, EqualValuesUnderDifferentRulesAreDifferentScopes) {
  const request from = carrying({{"X-A", "v"}, {"X-B", "v"}});
  EXPECT_NE(scope_of(scope_rule{"header:X-A"}, from), scope_of(scope_rule{"header:X-B"}, from));
}

TEST(Scope, OperatorsFindTheScopeOfAValue) {
  for (const char* text : {"header:X-Api-Key", "trusted:X-Tenant"}) {
    const scope_rule rule{text};
    const std::string name = rule.text().substr(rule.text().find(':') + 1);
    EXPECT_EQ(scope_of(rule, carrying({{name, "t1"}}).from_trusted_hop(true)), rule.hash("t1"));
  }
  EXPECT_EQ(scope_from_header("X-Account").text(), "header:X-Account");
}

TEST(Scope, SharedIsOneScopeForEverybody) {
  const scope_rule rule{"shared"};
  EXPECT_TRUE(rule.is_shared());
  EXPECT_EQ(scope_of(rule, carrying({})), scope_of(rule, carrying({{"Authorization", "x"}})));
  EXPECT_FALSE(scope_rule{"header:shared"}.is_shared());
}

TEST(Scope, CookieIsFoundAmongOthers) {
  const scope_rule rule{"cookie:sid"};
  const scope_hash wanted = rule.hash("42");
  EXPECT_EQ(scope_of(rule, carrying({{"Cookie", "sid=42"}})), wanted);
  EXPECT_EQ(scope_of(rule, carrying({{"Cookie", "a=1; sid=42; b=2"}})), wanted);
  EXPECT_EQ(scope_of(rule, carrying({{"Cookie", "a=1"}, {"Cookie", "sid=42"}})), wanted);
  EXPECT_EQ(scope_of(rule, carrying({{"Cookie", "sid=a=b"}})), rule.hash("a=b"));
}

struct fault_row {
  const char* why;
  const char* rule;
  request from;
  scope_fault expected;
};

TEST(Scope, FaultsAsDesignSection5Says) {
  const std::string jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln";
  const fault_row rows[] = {
      {"A-02", "header:Authorization", carrying({}), scope_fault::missing_credential},
      {"A-02 blank", "header:Authorization", carrying({{"Authorization", " "}}),
       scope_fault::missing_credential},
      {"another header: 400", "header:X-Api-Key", carrying({}), scope_fault::missing_header},
      {"empty header", "header:X-Api-Key", carrying({{"X-Api-Key", ""}}),
       scope_fault::missing_header},
      {"two lines", "header:X-Api-Key", carrying({{"X-Api-Key", "a"}, {"x-api-key", "a"}}),
       scope_fault::repeated},
      {"C105", "cookie:sid", carrying({{"Cookie", "sidx=1; xsid=2"}}),
       scope_fault::missing_credential},
      {"empty cookie", "cookie:sid", carrying({{"Cookie", "sid="}}),
       scope_fault::missing_credential},
      {"cookie names have case", "cookie:sid", carrying({{"Cookie", "SID=1"}}),
       scope_fault::missing_credential},
      {"doubled cookie", "cookie:sid", carrying({{"Cookie", "sid=1; sid=2"}}),
       scope_fault::repeated},
      {"from a stranger", "trusted:X-Tenant", carrying({{"X-Tenant", "t1"}}),
       scope_fault::untrusted_hop},
      {"hop sent none", "trusted:X-Tenant", carrying({}).from_trusted_hop(true),
       scope_fault::missing_credential},
      {"JWT", "header:Authorization", carrying({{"Authorization", "Bearer " + jwt}}),
       scope_fault::unusable},
      {"JWT, other spelling", "header:authorization",
       carrying({{"Authorization", "bEARER   " + jwt}}), scope_fault::unusable},
      {"encrypted JWT", "header:Authorization",
       carrying({{"Authorization", "Bearer " + jwt + ".a.b"}}), scope_fault::unusable},
  };
  for (const fault_row& row : rows) {
    const derived found = scope_rule{row.rule}.derive(row.from);
    const auto* fault = std::get_if<scope_fault>(&found);
    ASSERT_NE(fault, nullptr) << row.why;
    EXPECT_EQ(*fault, row.expected) << row.why;
  }
}

TEST(Scope, LongLivedCredentialsAreUsable) {
  const scope_rule rule{"header:Authorization"};
  for (const char* value : {"Bearer sk_test_4eC39HqLyjWDarjtT1zdp7dc", "Basic dXNlcjpwYXNz",
                            "Bearer a.b.c", "Bearer eyJ", "eyJhb.eyJz.c2ln"}) {
    EXPECT_EQ(scope_of(rule, carrying({{"Authorization", value}})), rule.hash(value));
  }
}

TEST(Scope, A10UnknownRulesSayWhatToUse) {
  for (const char* text : {"", "X-Api-Key", "header", "header:", "header:a b",
                           "cookie:", "trusted:", "shared:x", "Header:X", "ip:x", "header:a:b"}) {
    EXPECT_THROW(scope_rule{text}, std::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace callonce
