#include <algorithm>
#include <numeric>

#include "tests/model/store.hpp"

namespace callonce::model {
namespace {

// Under one claim the gateway's answer has this number more than the application's own.
constexpr small gateways_answer = 50;

// Collects what can happen next in one world.
class stepper {
 public:
  stepper(const world& now, const scenario& of, store& records)
      : now_(now), of_(of), records_(records) {}

  std::vector<step> all() {
    for (small who = 0; who < of_.clients; ++who) {
      client_steps(who);
      if (now_.crashes > 0 && now_.clients[who].at != phase::ended) {
        take("crashes", who, {}, [&](world& w) {
          --w.crashes;
          w.clients[who].at = phase::ended;
        });
      }
    }
    if (now_.held != 0) transaction_steps();
    if (of_.settles) operator_steps();
    time_steps();
    if (now_.on_its_way.what != deed::none) {
      apply("an echo arrives", 0, now_.on_its_way,
            [](world& w, const act&) { w.on_its_way = act{}; });
    }
    return std::move(made_);
  }

 private:
  template <class Change>
  void take(std::string_view name, small who, const act& did, Change change) {
    step next{name, who, did, now_};
    change(next.after);
    tidy(next.after);
    made_.push_back(next);
  }

  // Asks the store, then does `change` to the world that has the record as it is then.
  template <class Change>
  void apply(std::string_view name, small who, act question, Change change) {
    step next{name, who, {}, now_};
    question.held = now_.held;
    next.did = records_.apply(next.after.found, question);
    if (!(next.after.found == now_.found)) end_trust(next.after, question);
    change(next.after, next.did);
    tidy(next.after);
    made_.push_back(next);
  }

  // A completed record needs no lease, and an operator may fence whoever runs.
  static void end_trust(world& w, const act& question) {
    for (small who = 0; who < clients_max; ++who) {
      client& c = w.clients[who];
      const bool own = claim_of(who, c.request) == question.claim && c.attempt == question.attempt;
      const bool completed = question.what == deed::complete && own;
      if (completed || question.what == deed::settle) c.trusted = 0;
    }
  }

  // The same over a network: the operation may arrive a second time, its reply may be lost, and it
  // may arrive late or never while its sender knows nothing.
  template <class Change>
  void send(std::string_view name, small who, const act& question, Change change) {
    apply(name, who, question, change);
    const bool may_echo = now_.echoes > 0 && now_.on_its_way.what == deed::none;
    const auto keep = [&](world& w) {
      --w.echoes;
      w.on_its_way = question;
    };
    if (may_echo) {
      apply(name, who, question, [&](world& w, const act& did) {
        keep(w);
        change(w, did);
      });
    }
    if (now_.lost_replies == 0) return;
    apply("its reply is lost", who, question, [](world& w, const act&) { --w.lost_replies; });
    if (!may_echo) return;
    take("its request is late", who, {}, [&](world& w) {
      --w.lost_replies;
      keep(w);
    });
  }

  // What no later step can tell apart becomes equal, so that fewer worlds are visited.
  static void tidy(world& w) {
    for (client& c : w.clients) {
      if (c.at == phase::ended) {
        c = client{};
        c.at = phase::ended;
      }
      if (c.at == phase::asking) c.attempt = c.trusted = 0;
      if (c.at == phase::ran) c.trusted = 0;
    }
    if (w.held == 0) w.held_claim = w.held_attempt = 0;
  }

  bool held() const { return now_.held != 0; }
  small print_of(small who) const { return of_.mismatch && who + 1 == of_.clients ? 2 : 1; }

  // The loser of a claim, or whoever got an error, comes back once with a new claim_id.
  static void come_again(client& c) {
    c.outcome = deed::none;
    if (c.request + 1 < requests_each) {
      ++c.request;
      c.at = phase::asking;
    } else {
      c.at = phase::ended;
    }
  }

  void client_steps(small who) {
    switch (now_.clients[who].at) {
      case phase::asking:
        return claim_steps(who);
      case phase::won:
        return start_steps(who);
      case phase::running:
        return run_steps(who);
      case phase::ran:
        return outcome_steps(who);
      case phase::ended:
        return;
    }
  }

  act claim_question(small who, small request) const {
    return {.what = deed::claim,
            .claim = claim_of(who, request),
            .print = print_of(who),
            .park = of_.park ? small{1} : small{0}};
  }

  // The gateway's own answer differs from the one that the application may store.
  static act write_question(deed what, small claim, small attempt) {
    const auto answer = static_cast<small>(what == deed::complete ? gateways_answer + claim : 0);
    return {.what = what, .claim = claim, .attempt = attempt, .answer = answer};
  }

  act settle_question(bool completed) const {
    return {.what = deed::settle,
            .claim = operator_claim,
            .attempt = now_.operator_expects,
            .answer = completed ? operator_claim : small{0}};
  }

  void claim_steps(small who) {
    const act question = claim_question(who, now_.clients[who].request);
    send("claims", who, question, [&](world& w, const act& did) {
      client& c = w.clients[who];
      switch (did.claim_said) {
        case claim_verdict::claimed:
          c.at = phase::won;
          c.attempt = w.found.attempt;
          c.trusted = 1;
          return;
        case claim_verdict::in_progress:
          return come_again(c);
        case claim_verdict::busy:
          return;
        default:
          c.at = phase::ended;
      }
    });
  }

  template <class Change>
  void write(std::string_view name, small who, deed what, Change change) {
    const client& c = now_.clients[who];
    send(name, who, write_question(what, claim_of(who, c.request), c.attempt),
         [&](world& w, const act& did) { change(w, w.clients[who], did.write_said); });
  }

  void renew_step(small who) {
    if (now_.clients[who].renewals == 0) return;
    write("renews", who, deed::renew, [](world&, client& c, write_verdict said) {
      --c.renewals;
      if (said == write_verdict::done) c.trusted = 1;
      if (said == write_verdict::lease_lost && c.at == phase::won) come_again(c);
    });
  }

  void start_steps(small who) {
    const client& c = now_.clients[who];
    renew_step(who);
    if (c.trusted != 0) {
      take("begins its run", who, {}, [&](world& w) { w.clients[who].at = phase::running; });
    } else if (c.renewals == 0) {
      take("runs nothing", who, {}, [&](world& w) {
        w.clients[who].at = phase::ran;
        w.clients[who].outcome = deed::release;
      });
    }
  }

  void run_steps(small who) {
    renew_step(who);
    const auto ends = [&](std::string_view name, deed outcome) {
      take(name, who, {}, [&](world& w) {
        w.clients[who].at = phase::ran;
        w.clients[who].outcome = outcome;
      });
    };
    ends("ends well", deed::complete);
    ends("fails", deed::release);
    if (of_.park) ends("ends unknown", deed::park);
    if (of_.co_commit && !held()) application_steps(who);
  }

  // The application's own transaction: it completes in one go, or holds the row first.
  void application_steps(small who) {
    const client& c = now_.clients[who];
    const small claim = claim_of(who, c.request);
    act completes = write_question(deed::complete, claim, c.attempt);
    completes.answer = claim;
    apply("application completes", who, completes, [](world&, const act&) {});
    const row& found = now_.found;
    const bool own = found.present != 0 && found.claim == claim && found.attempt == c.attempt;
    if (c.may_hold == 0 || !own || found.state != record_state::claimed) return;
    take("application holds the row", who, {}, [&](world& w) {
      w.clients[who].may_hold = 0;
      w.held = 1;
      w.held_claim = claim;
      w.held_attempt = c.attempt;
    });
  }

  void transaction_steps() {
    take("application rolls back", 0, {}, [](world& w) { w.held = 0; });
    act commits = write_question(deed::complete, now_.held_claim, now_.held_attempt);
    commits.answer = now_.held_claim;
    commits.own_transaction = 1;
    apply("application commits", 0, commits, [](world& w, const act&) { w.held = 0; });
  }

  void outcome_steps(small who) {
    const deed what = now_.clients[who].outcome;
    const std::string_view name = what == deed::complete  ? "completes"
                                  : what == deed::release ? "releases"
                                                          : "parks";
    write(name, who, what, [&](world& w, client& c, write_verdict said) {
      if (said == write_verdict::busy) return;
      const bool completed = w.found.present != 0 && w.found.state == record_state::completed;
      if (said == write_verdict::done ? what == deed::release : !completed) return come_again(c);
      c.at = phase::ended;
    });
  }

  void operator_steps() {
    const row& found = now_.found;
    if (now_.operator_looked == 0 && found.present != 0) {
      take("operator looks", 0, {}, [&](world& w) {
        w.operator_looked = 1;
        w.operator_expects = found.attempt;
      });
    }
    if (now_.operator_looked != 1) return;
    for (const bool completed : {false, true}) {
      send(completed ? "operator settles as completed" : "operator settles as released", 0,
           settle_question(completed), [](world& w, const act&) {
             w.operator_looked = 2;
             w.operator_expects = 0;
           });
    }
  }

  void time_steps() {
    const row& found = now_.found;
    if (found.present == 0) return;
    if (found.lease_left > 0) {
      take("the lease lapses", 0, act{deed::lapse}, [&](world& w) {
        w.found.lease_left = 0;
        for (small who = 0; who < of_.clients; ++who) {
          client& c = w.clients[who];
          const bool owner = claim_of(who, c.request) == found.claim && c.attempt == found.attempt;
          if (owner) c.trusted = 0;
        }
      });
    }
    if (of_.retention && found.expires_left > 0) {
      take("retention passes", 0, act{deed::wall}, [](world& w) {
        --w.found.expires_left;
        if (w.found.body_left > 0) --w.found.body_left;
      });
    }
    apply("purger comes", 0, {.what = deed::purge}, [](world&, const act&) {});
  }

  const world& now_;
  const scenario& of_;
  store& records_;
  std::vector<step> made_;
};

}  // namespace

world beginning(const scenario& of) {
  world w;
  w.crashes = of.crashes;
  w.lost_replies = of.lost_replies;
  w.echoes = of.echoes;
  for (small who = 0; who < clients_max; ++who) {
    client& c = w.clients[who];
    if (who >= of.clients) {
      c.at = phase::ended;
      continue;
    }
    c.renewals = of.renewals;
    c.may_hold = of.co_commit ? 1 : 0;
  }
  return w;
}

world without_names(const world& now, const scenario& of) {
  std::array<small, clients_max> order{};
  std::iota(order.begin(), order.end(), small{0});
  const auto alike = static_cast<std::ptrdiff_t>(of.mismatch ? of.clients - 1 : of.clients);
  std::stable_sort(order.begin(), order.begin() + alike, [&](small left, small right) {
    return same_bytes::of(now.clients[left]) < same_bytes::of(now.clients[right]);
  });
  std::array<small, 256> renamed{};
  std::iota(renamed.begin(), renamed.end(), small{0});
  world same = now;
  for (small who = 0; who < clients_max; ++who) {
    same.clients[who] = now.clients[order[who]];
    for (small request = 0; request < requests_each; ++request) {
      const small from = claim_of(order[who], request);
      const small to = claim_of(who, request);
      renamed[from] = to;
      renamed[gateways_answer + from] = static_cast<small>(gateways_answer + to);
    }
  }
  for (small* name : {&same.found.claim, &same.found.answer, &same.held_claim,
                      &same.on_its_way.claim, &same.on_its_way.answer}) {
    *name = renamed[*name];
  }
  return same;
}

std::vector<step> steps_from(const world& now, const scenario& of, store& records) {
  return stepper{now, of, records}.all();
}

}  // namespace callonce::model
