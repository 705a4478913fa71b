#include <cstdlib>
#include <string>

#include <gateway/document.hpp>
#include <toml++/toml.h>

namespace callonce::gateway {
namespace {

class reader {
 public:
  explicit reader(document& into) : into_(into) {}

  void read_root(const toml::table& root) {
    // Routes inherit the defaults, wherever in the file these stand.
    if (const toml::node* defaults = root.get("defaults")) read_section("defaults", *defaults);
    for (const auto& [name, node] : root) {
      const std::string section{name.str()};
      if (section == "defaults") continue;
      if (section == "route") {
        read_routes(node);
      } else if (node.is_table()) {
        read_section(section, node);
      } else if (node.is_array_of_tables()) {
        blame(node, section + ": unknown table: only [[route]] may be repeated");
      } else {
        read_value({}, 0, section, node);
      }
    }
  }

 private:
  static unsigned line_of(const toml::node& node) { return node.source().begin.line; }
  void blame(const toml::node& node, std::string text) {
    into_.mistakes.push_back({line_of(node), std::move(text)});
  }

  void read_section(const std::string& section, const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      blame(node, section + ": is a table: write [" + section + "] and its keys below");
      return;
    }
    for (const auto& [name, value] : *table) read_value(section, 0, std::string{name.str()}, value);
  }

  void read_routes(const toml::node& node) {
    const toml::array* array = node.as_array();
    if (array == nullptr || !(array->empty() || node.is_array_of_tables())) {
      blame(node, "route: routes are a list of tables: write [[route]], in two pairs of brackets");
      return;
    }
    for (const toml::node& each : *array) {
      const std::size_t index = into_.route_lines.size();
      into_.route_lines.push_back(line_of(each));
      for (const auto& [name, value] : *each.as_table()) {
        read_value("route", index, std::string{name.str()}, value);
      }
    }
  }

  void read_value(const std::string& section, std::size_t route, const std::string& key,
                  const toml::node& node) {
    assignment made{section, route, key, {}, line_of(node)};
    const std::string where = section.empty() ? key : section + "." + key;
    const std::size_t blamed_before = into_.mistakes.size();
    if (const auto* text = node.as_string()) {
      made.value = expand(text->get(), where, node);
    } else if (const auto* number = node.as_integer()) {
      made.value = number->get();
    } else if (const auto* truth = node.as_boolean()) {
      made.value = truth->get();
    } else if (const toml::array* list = node.as_array()) {
      std::vector<std::string> items;
      for (const toml::node& item : *list) items.push_back(word(item, where));
      made.value = std::move(items);
    } else if (const toml::table* table = node.as_table()) {
      std::vector<std::pair<std::string, std::string>> pairs;
      for (const auto& [name, value] : *table) {
        pairs.emplace_back(std::string{name.str()}, word(value, where));
      }
      made.value = std::move(pairs);
    } else {
      blame(node, where + ": dates and fractions are not used: write text in quotes");
      return;
    }
    // What cannot be read would only be blamed a second time by its reading.
    if (into_.mistakes.size() == blamed_before) into_.assignments.push_back(std::move(made));
  }

  std::string word(const toml::node& node, const std::string& where) {
    if (const auto* text = node.as_string()) return expand(text->get(), where, node);
    blame(node, where + ": only texts in quotes may stand in here");
    return {};
  }

  std::string expand(const std::string& text, const std::string& where, const toml::node& node) {
    std::string made;
    std::size_t from = 0;
    for (std::size_t at = text.find("${"); at != std::string::npos; at = text.find("${", from)) {
      made.append(text, from, at - from);
      const std::size_t end = text.find('}', at);
      if (end == std::string::npos) {
        blame(node, where + ": '${' without '}': write ${NAME}");
        return made;
      }
      const std::string name = text.substr(at + 2, end - at - 2);
      const char* value = std::getenv(name.c_str());
      if (value == nullptr) {
        blame(node, where + ": the environment has no " + name + ": set it, or write the value");
      } else {
        made += value;
      }
      from = end + 1;
    }
    return made.append(text, from);
  }

  document& into_;
};

}  // namespace

document read_document(std::string_view toml) {
  document made;
  try {
    const toml::table root = toml::parse(toml);
    reader{made}.read_root(root);
  } catch (const toml::parse_error& fault) {
    std::string text{fault.description()};
    made.mistakes.push_back({fault.source().begin.line, "is not valid TOML: " + text});
  }
  return made;
}

}  // namespace callonce::gateway
