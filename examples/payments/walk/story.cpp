#include <algorithm>
#include <future>

#include <boost/json.hpp>
#include <examples/payments/walk/story.hpp>

namespace walk {
namespace {

using namespace std::chrono_literals;

constexpr auto in_progress = "idempotency_key_in_progress";

order charge(const std::string& card, std::int64_t amount, const std::string& key) {
  return {.path = "/v1/charges",
          .account = "sk_test_ann",
          .key = key,
          .body = boost::json::serialize(boost::json::object{{"amount", amount},
                                                             {"currency", "eur"},
                                                             {"source", card},
                                                             {"description", "for " + key}})};
}

/// The reply must be this one.
finding expect(const reply& got, int status, const std::string& code = "") {
  reply wanted;
  wanted.status = status;
  wanted.code = code;
  return {.right = got.status == status && got.code == code && !got.replayed,
          .answer = got.text(),
          .wanted = wanted.text() + ", not a replay"};
}

/// The reply must say that the first request still runs, and when to come back.
finding expect_in_progress(const reply& got) {
  auto found = expect(got, 409, in_progress);
  found.right = found.right && got.retryable && got.retry_after > 0s;
  found.wanted = "409 key_in_progress, retryable, with Retry-After";
  return found;
}

/// The reply must be the stored one, marked.
finding expect_replay(const reply& got, const reply& first) {
  return {.right = first.status != 0 && got.repeats(first) && got.replayed,
          .answer = got.text(),
          .wanted = "the first answer byte for byte, marked as replayed"};
}

std::string text(const std::vector<reply>& replies) {
  std::string text;
  std::string last;
  for (const auto& reply : replies) {
    if (reply.text() == last) continue;
    last = reply.text();
    text += (text.empty() ? "" : ", ") + last;
  }
  return text;
}

/// Every one of the replies met the first request in progress, or brings its answer.
finding expect_storm(std::vector<std::future<reply>>& storm, const reply& first) {
  std::size_t waiting = 0;
  std::size_t replayed = 0;
  std::string other;
  const auto sent = storm.size();
  for (auto& future : storm) {
    const auto got = future.get();
    if (expect_in_progress(got).right)
      ++waiting;
    else if (expect_replay(got, first).right)
      ++replayed;
    else
      other = got.text();
  }
  finding found{.right = waiting + replayed == sent,
                .answer = std::to_string(waiting) + " x 409 key_in_progress",
                .wanted = "each either in progress or a replay of the first answer"};
  if (replayed > 0) found.answer += ", " + std::to_string(replayed) + " replayed";
  if (!found.right) found.answer += ", also " + other;
  return found;
}

}  // namespace

bool story::row(const std::string& what, const std::string& sent, std::int64_t effects,
                const std::function<finding()>& act) {
  table_.begin(what, sent);
  const auto before = house_.bookings();
  const auto found = act();
  return table_.end(found, before, house_.bookings(), before + effects);
}

std::vector<reply> story::send_until_settled(const order& order) {
  std::vector<reply> replies{send(order)};
  // Long enough for any lease of the configuration to lapse, several times over.
  const auto until = std::chrono::steady_clock::now() + 30s;
  while (replies.back().code == in_progress && std::chrono::steady_clock::now() < until) {
    for (auto left = std::max(replies.back().retry_after, 1s); left > 0s; left -= 1s) {
      table_.progress("409, Retry-After: " + std::to_string(left.count()) + " s");
      sleep(1s);
    }
    table_.progress("sending again ...");
    replies.push_back(send(order));
  }
  return replies;
}

void story::await_in_flight() {
  // When it never gets there its own row says so.
  await([&] { return house_.in_flight() > 0; }, 5s);
}

void story::tell() {
  one_key_once();
  the_bank_says_no();
  the_client_leaves();
  the_api_breaks();
  a_person_decides();
  the_gateway_dies();
}

void story::one_key_once() {
  table_.chapter("One key, one charge");
  first_order_ = charge("tok_visa", 4200, "order-1");
  std::vector<std::future<reply>> storm;
  row("first request", "tok_visa, order-1", 1, [&] {
    auto first = std::async(std::launch::async, [&] { return send(first_order_); });
    await_in_flight();
    for (int i = 0; i < 49; ++i)
      storm.push_back(std::async(std::launch::async, [&] { return send(first_order_); }));
    first_reply_ = first.get();
    return expect(first_reply_, 201);
  });
  row("49 duplicates while it runs", "49 x the same", 0,
      [&] { return expect_storm(storm, first_reply_); });
  row("the same again, later", "the same", 0,
      [&] { return expect_replay(send(first_order_), first_reply_); });
  row("another amount under the same key", "99.00 now, order-1", 0, [&] {
    return expect(send(charge("tok_visa", 9900, "order-1")), 422, "idempotency_key_reused");
  });
  row("another tenant, the same key", "sk_test_bob, order-1", 1, [&] {
    auto order = first_order_;
    order.account = "sk_test_bob";
    const auto got = send(order);
    auto found = expect(got, 201);
    found.right = found.right && got.location != first_reply_.location;
    found.wanted = "201, a charge of its own";
    return found;
  });
}

void story::the_bank_says_no() {
  table_.chapter("Errors: the passing ones may be tried again, the final ones are kept");
  const auto unlucky = charge("tok_503_once", 1250, "order-2");
  row("the bank cannot be reached", "tok_503_once, order-2", 0,
      [&] { return expect(send(unlucky), 503); });
  row("the retry", "the same", 1, [&] { return expect(send(unlucky), 201); });
  const auto declined = charge("tok_declined", 80000, "order-3");
  reply refusal;
  row("a declined card", "tok_declined, order-3", 0, [&] {
    refusal = send(declined);
    return expect(refusal, 402);
  });
  row("the retry", "the same", 0, [&] { return expect_replay(send(declined), refusal); });
}

void story::the_client_leaves() {
  table_.chapter("The answer is lost between gateway and client");
  const auto patient = charge("tok_slow", 3100, "order-4");
  row("client hangs up after half a second", "tok_slow, order-4", 0, [&] {
    const auto got = walk::send(house_.gateway_port(), patient, 500ms);
    return finding{.right = got.status == 0, .answer = got.text(), .wanted = "no answer"};
  });
  row("the retry, as Retry-After says", "the same", 1, [&] {
    const auto replies = send_until_settled(patient);
    const auto& last = replies.back();
    return finding{.right = last.status == 201 && last.replayed,
                   .answer = text(replies),
                   .wanted = "the first request's 201, replayed"};
  });
}

void story::the_api_breaks() {
  table_.chapter("The answer is lost between API and gateway");
  const auto broken = charge("tok_cut_once", 700, "order-5");
  row("API books, then drops the connection", "tok_cut_once, order-5", 1, [&] {
    const auto got = send(broken);
    auto found = expect(got, 502, "upstream_broken");
    found.right = found.right && got.retryable;
    found.wanted = "502 upstream_broken, retryable";
    return found;
  });
  row("the retry at once", "the same", 0, [&] { return expect_in_progress(send(broken)); });
  const bool twice = row("the retry when the lease has lapsed", "the same", 1, [&] {
    const auto replies = send_until_settled(broken);
    auto found = expect(replies.back(), 201);
    found.answer = text(replies);
    return found;
  });
  if (!twice) return;
  table_.note(
      "Two charges, as documented: nobody can know whether the first run paid, and the policy");
  table_.note(
      "of this opaque route is to run again once the lease has lapsed. Now the other policy:");
}

void story::a_person_decides() {
  table_.chapter("The same on a route with on_lapsed = \"park\"");
  reply paid;
  row("a charge to give back", "tok_refund_cut, order-6", 1, [&] {
    paid = send(charge("tok_refund_cut", 5000, "order-6"));
    return expect(paid, 201);
  });
  order refund{.path = "/v1/refunds",
               .account = "sk_test_ann",
               .key = "refund-6",
               .body = "{\"charge\":\"" + paid.location.substr(paid.location.rfind('/') + 1) +
                       "\",\"amount\":2000}"};
  row("API refunds, then drops the connection", "refund, refund-6", 1,
      [&] { return expect(send(refund), 502, "upstream_broken"); });
  const bool parked = row("the retry", "the same", 0, [&] {
    const auto replies = send_until_settled(refund);
    auto found = expect(replies.back(), 409, "idempotency_outcome_unknown");
    found.answer = text(replies);
    return found;
  });
  if (!parked) return;
  table_.note("One refund: the key is parked until a person settles it (callonce keys settle).");
}

void story::the_gateway_dies() {
  table_.chapter("The gateway is killed with -9 while a request is in flight");
  const auto caught = charge("tok_slow", 2600, "order-7");
  row("killed while the bank works", "tok_slow, order-7", 0, [&] {
    auto sent = std::async(std::launch::async, [&] { return send(caught); });
    await_in_flight();
    house_.kill_gateway();
    const auto got = sent.get();
    const bool noticed = await([&] { return house_.in_flight() == 0; }, 10s);
    return finding{.right = got.status == 0 && noticed,
                   .answer = got.text(),
                   .wanted = "no answer, and the API notices the broken connection"};
  });
  row("restarted; the retry at once", "the same", 0, [&] {
    table_.progress("starting the gateway ...");
    house_.start_gateway();
    return expect_in_progress(send(caught));
  });
  const bool once = row("the retry when the lease has lapsed", "the same", 1, [&] {
    const auto replies = send_until_settled(caught);
    auto found = expect(replies.back(), 201);
    found.answer = text(replies);
    return found;
  });
  if (once) {
    table_.note(
        "One charge: the API saw its caller go before money moved. Had it moved already, this");
    table_.note("opaque route would have charged twice, as above.");
  }
  row("the very first request once more", "tok_visa, order-1", 0,
      [&] { return expect_replay(send(first_order_), first_reply_); });
}

}  // namespace walk
