#include <string>
#include <variant>

#include <gtest/gtest.h>

#include <callonce/core/key.hpp>

#include "callonce/core/structured_field.hpp"

namespace callonce {
namespace {

using namespace std::string_literals;

// What a field value reads as: `key:` and its bytes, or the fault's word.
std::string reading(std::string_view field_value, key_syntax syntax = key_syntax::automatic) {
  const auto parsed = parse_key(field_value, syntax);
  if (const auto* fault = std::get_if<key_fault>(&parsed)) return std::string{to_string(*fault)};
  return "key:" + std::string{std::get<key>(parsed).bytes()};
}

struct spelling {
  const char* id;
  std::string field_value;
  std::string automatic;
  std::string strict;
};

const std::string digit_uuid = "8e03978e-40d5-43e8-bc93-6894a57f9324";
const std::string letter_uuid = "ae03978e-40d5-43e8-bc93-6894a57f9324";

const spelling spellings[] = {
    {"P-04", R"("abc)", "malformed", "malformed"},
    {"P-05", R"("a\x")", "malformed", "malformed"},
    {"P-06", R"("a\"b\\c")", R"(key:a"b\c)", R"(key:a"b\c)"},
    {"P-07 tab", "\"a\tb\"", "malformed", "malformed"},
    {"P-07 NUL", "\"a\0b\""s, "malformed", "malformed"},
    {"P-07 DEL", "\"a\x7f\"", "malformed", "malformed"},
    {"P-07 non-ASCII", "\"a\xc3\xa9\"", "malformed", "malformed"},
    {"P-09", digit_uuid, "key:" + digit_uuid, "malformed"},
    {"P-10", letter_uuid, "key:" + letter_uuid, "malformed"},
    {"P-12", "\"u\"", "key:u", "key:u"},
    {"P-12 bare", "u", "key:u", "malformed"},
    {"P-13", "\"u\";v=1", "key:u", "key:u"},
    {"P-16 list", R"("a", "b")", "malformed", "malformed"},
    {"P-16 bare list", "a,b", "malformed", "malformed"},
    {"P-17 empty", "", "empty", "empty"},
    {"P-17 blanks", " \t ", "empty", "empty"},
    {"P-17 quotes", "\"\"", "empty", "empty"},
    {"C58 quoted blanks", "\"  \"", "empty", "empty"},
    {"P-22", " \t\"u\"\t ", "key:u", "key:u"},
    {"P-22 bare", "\tu ", "key:u", "malformed"},
    {"P-23 lower", "abc", "key:abc", "malformed"},
    {"P-23 upper", "ABC", "key:ABC", "malformed"},
    {"P-23 blank kept", "\"abc \"", "key:abc ", "key:abc "},
    {"P-24 display string", "%\"x\"", "malformed", "malformed"},
    {"P-24 date", "@1", "malformed", "malformed"},
    {"P-24 boolean", "?1", "malformed", "malformed"},
    {"P-24 single quotes", "'x'", "malformed", "malformed"},
    {"P-24 inner list", "(x)", "malformed", "malformed"},
    {"P-25", R"("'; DROP TABLE x;--{0}")", "key:'; DROP TABLE x;--{0}",
     "key:'; DROP TABLE x;--{0}"},
    {"C61 bare non-ASCII", "\xc3\xa9", "malformed", "malformed"},
    {"1.3 bare alphabet", "aZ09-_.~:+/=", "key:aZ09-_.~:+/=", "malformed"},
    {"1.3 bare semicolon", "a;b", "malformed", "malformed"},
    {"1.3 bare space", "a b", "malformed", "malformed"},
    {"1.3 bare quote", "a\"b", "malformed", "malformed"},
    {"RFC 9651 4.2: garbage behind", "\"a\"b", "malformed", "malformed"},
    {"RFC 9651 4.2: blank before parameters", "\"a\" ;v", "malformed", "malformed"},
};

TEST(KeySpelling, ReadsAsTheTableSays) {
  for (const spelling& row : spellings) {
    EXPECT_EQ(reading(row.field_value), row.automatic) << row.id;
    EXPECT_EQ(reading(row.field_value, key_syntax::strict), row.strict) << row.id << " strict";
  }
}

// P-08: each ASCII code alone and escaped, the expectation from RFC 9651 section 4.2.5: visible
// ASCII and blank are taken as they are, a quote and a backslash only escaped.
TEST(KeySpelling, P08EveryAsciiCodeAloneAndEscaped) {
  int accepted = 0;
  int refused = 0;
  for (int code = 0; code < 128; ++code) {
    const char c = static_cast<char>(code);
    const bool special = c == '"' || c == '\\';
    const bool visible = code >= 0x20 && code <= 0x7e;
    for (const bool escaped : {false, true}) {
      const std::string value = escaped ? "\""s + '\\' + c + '"' : "\""s + c + '"';
      const bool legal = escaped ? special : visible && !special;
      const auto parsed = detail::parse_string_item(value);
      EXPECT_EQ(parsed.has_value(), legal) << "code " << code << (escaped ? " escaped" : "");
      if (parsed) {
        EXPECT_EQ(*parsed, std::string(1, c));
      }
      const std::string as_key = !legal ? "malformed" : c == ' ' ? "empty" : "key:"s + c;
      EXPECT_EQ(reading(value, key_syntax::strict), as_key) << "code " << code;
      ++(parsed ? accepted : refused);
    }
  }
  EXPECT_EQ(accepted, 95);
  EXPECT_EQ(refused, 161);
}

TEST(KeySpelling, P18LengthIsCountedWithoutQuotesAndEscapes) {
  const std::string longest(255, 'k');
  for (const std::string& spelled : {longest, '"' + longest + '"'}) {
    EXPECT_EQ(reading(spelled), "key:" + longest);
  }
  EXPECT_EQ(reading(longest + 'k'), "too_long");
  EXPECT_EQ(reading('"' + longest + "k\""), "too_long");

  std::string escaped = "\"";
  for (int i = 0; i < 255; ++i) escaped += R"(\\)";
  EXPECT_EQ(reading(escaped + '"'), "key:" + std::string(255, '\\'));
  EXPECT_EQ(reading(escaped + R"(\\")"), "too_long");
}

// Parameters are legal, whatever they say (P-13), but they must be parameters.
TEST(KeyParameters, WellFormedOnesAreDropped) {
  for (const char* parameters :
       {";v", ";v=1", ";v=-12.5", ";*v=tok/en:x", ";a;b=?0; c=?1", ";v=\"a;b\\\"c\"",
        ";v=:YWI=:", ";v=@1659578233", ";v=@-1", R"(;v=%"f%c3%bc \ r")", ";v-_.*1=999999999999999",
        ";v=999999999999.999"}) {
    EXPECT_EQ(reading("\"u\""s + parameters, key_syntax::strict), "key:u") << parameters;
  }
}

TEST(KeyParameters, MalformedOnesMakeTheFieldMalformed) {
  for (const char* parameters : {";",
                                 ";V=1",
                                 ";1=1",
                                 ";v=",
                                 ";v= 1",
                                 ";v=1.",
                                 ";v=1.2345",
                                 ";v=-",
                                 ";v=1000000000000000",
                                 ";v=1000000000000.1",
                                 ";v=?2",
                                 ";v=\"x",
                                 ";v=:a",
                                 ";v=:?:",
                                 ";v=@1.5",
                                 R"(;v=%"%C3")",
                                 R"(;v=%"%g0")",
                                 R"(;v=%"%c)",
                                 ";v=%x",
                                 ";v=(a)",
                                 ";v,\"b\""}) {
    EXPECT_EQ(reading("\"u\""s + parameters, key_syntax::strict), "malformed") << parameters;
  }
}

TEST(Key, ComparesByteForByte) {
  EXPECT_EQ(key{"abc"}, key{"abc"});
  EXPECT_NE(key{"abc"}, key{"ABC"});
  EXPECT_NE(key{"abc"}, key{"abc "});
}

}  // namespace
}  // namespace callonce
