#include "tests/model/explorer.hpp"

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "tests/model/invariants.hpp"
#include "tests/model/store.hpp"

namespace callonce::model {
namespace {

class explorer {
 public:
  explorer(const scenario& of, const rules& by) : of_(of), records_(by) {}

  report run() {
    made_.paths = visit(beginning(of_));
    made_.worlds = paths_from_.size();
    return std::move(made_);
  }

 private:
  struct taken {
    std::string_view name;
    small who;
  };

  bool fail(std::string_view broken) {
    if (broken.empty()) return false;
    made_.found = violation{std::string{broken}, {}};
    for (const taken& one : path_) {
      made_.found->path.push_back(std::string{one.name} + " (" + std::to_string(one.who + 1) + ")");
    }
    return true;
  }

  bool check(const world& now) {
    if (fail(broken_in(now, of_))) return false;
    if (!settled_.insert(now.found).second) return true;
    return !fail(unsettled(now.found, of_, records_));
  }

  // The number of ways on from here; 0 once something is broken.
  double visit(const world& now) {
    const world same = without_names(now, of_);
    if (const auto known = paths_from_.find(same); known != paths_from_.end()) return known->second;
    if (!check(now)) return 0;
    double paths = 0;
    for (const step& next : steps_from(now, of_, records_)) {
      ++made_.steps;
      path_.push_back({next.name, next.who});
      if (fail(broken_by(now, next))) return 0;
      if (!same_bytes{}(next.after, now)) paths += visit(next.after);
      if (made_.found) return 0;
      path_.pop_back();
    }
    if (paths == 0) paths = 1;
    paths_from_.emplace(same, paths);
    return paths;
  }

  const scenario& of_;
  store records_;
  report made_;
  std::vector<taken> path_;
  std::unordered_map<world, double, hash_of_bytes, same_bytes> paths_from_;
  std::unordered_set<row, hash_of_bytes, same_bytes> settled_;
};

}  // namespace

report explore(const scenario& of, const rules& by) {
  return explorer{of, by}.run();
}

}  // namespace callonce::model
