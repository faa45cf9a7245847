// Rank 0's work for the rounds of a job, from the plan to the reduced results.
#include "commands.h"
#include "coordinator.h"
#include "input.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/core.h>
#include <time.h>

#include <rpcrdma/load_ranks/tick.h>

namespace rpcrdma::load_mpi {
namespace {

// Clocks of so many ranks are read at once: answers that queue at rank 0 give no good estimates.
constexpr int kPingedAtOnce = 8;
// From the announcement of the start to the start.
constexpr fabric::Time kAnnouncement = 100 * fabric::kMillisecond;
// After the load's duration its Calls in flight have a second.
constexpr fabric::Time kLastAnswers = 2 * fabric::kSecond;

fabric::Time epoch_now() {
  timespec t{};
  ::clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec * fabric::kSecond + t.tv_nsec;
}

}  // namespace

void Coordinator::plan(fabric::Time now) {
  std::vector<load_ranks::Place> places;
  for (const Rank& r : ranks_) places.push_back({r.hello.host, r.hello.address});
  auto schedule = load_ranks::schedule(options_.pattern, places, cli::server_names(load_.hosts));
  if (!schedule) {
    return refuse_all(schedule.error().message);
  }
  schedule_ = std::move(*schedule);
  // Options are the same for all ranks: what is wrong with them is found here, once.
  for (const auto& round : schedule_.rounds) {
    const auto first = std::ranges::find_if(round, [](const auto& s) { return !s.empty(); });
    if (first == round.end()) continue;
    auto parsed = cli::parse_load(load_, *first);
    if (!parsed) {
      return refuse_all(parsed.error());
    }
    plan_ = std::move(*parsed);
    break;
  }
  setup_.each = cli::setup_of_each(load_);
  setup_.pattern = options_.pattern;
  setup_.ranks = static_cast<std::uint32_t>(channel_.size());
  if (schedule_.serving.empty()) return begin_round(now);
  enter(Phase::kServing, now);
  for (Rank& r : ranks_) r.answered = true;
  for (const std::uint32_t rank : schedule_.serving) {
    ranks_[rank].answered = false;
    channel_.send(static_cast<int>(rank), Kind::kServe);
  }
}

void Coordinator::begin_round(fabric::Time now) {
  enter(Phase::kConnecting, now);
  const auto& round = schedule_.rounds[round_];
  for (std::uint32_t rank = 0; rank < round.size(); ++rank) {
    channel_.send(static_cast<int>(rank), Kind::kWork, encode(Work{round_, round[rank]}));
  }
}

void Coordinator::ping_some(fabric::Time now) {
  int open = 0;
  for (std::size_t i = 0; i < ranks_.size() && open < kPingedAtOnce; ++i) {
    Rank& r = ranks_[i];
    if (r.answered) continue;
    ++open;
    if (std::exchange(r.pinged, true)) continue;
    channel_.send(static_cast<int>(i), Kind::kPing, encode(Ping{now, 0}));
  }
}

std::vector<std::string> Coordinator::server_texts(const std::vector<std::string>& servers) {
  if (auto known = texts_.find(servers); known != texts_.end()) return known->second;
  std::vector<std::string> texts;
  // As in the rows of complete ranks.
  if (const auto parsed = cli::parse_load(load_, servers)) {
    for (const cli::LoadServer& s : parsed->servers) texts.push_back(s.text);
  } else {
    texts = servers;
  }
  return texts_.emplace(servers, std::move(texts)).first->second;
}

void Coordinator::start_round(fabric::Time now) {
  start_ = load_ranks::start_time(now, kAnnouncement);
  if (first_start_ == 0) {
    first_start_ = start_;
    setup_.epoch = epoch_now() + (start_ - now);
    output_.begin();
  }
  const fabric::Time since_first = start_ - first_start_;
  gather_.begin_round(round_, since_first);
  const auto& round = schedule_.rounds[round_];
  enter(Phase::kLoading, now);
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const load_ranks::ClockOffset offset =
        ranks_[i].estimate.best().value_or(load_ranks::ClockOffset{});
    if (!round[i].empty()) {
      load_ranks::Row row;
      row.rank = static_cast<std::uint32_t>(i);
      row.round = round_;
      row.host = ranks_[i].hello.host;
      row.servers = server_texts(round[i]);
      row.offset = offset;
      gather_.expect(row);
    }
    channel_.send(static_cast<int>(i), Kind::kStart,
                  encode(Start{load_ranks::to_rank(start_, offset), offset.offset, offset.error,
                               since_first}));
  }
  next_second_ = seconds_ = 0;
  elapsed_ = 0;
  if (plan_->pace.duration < fabric::kNever - start_) {
    deadline_ = start_ + plan_->pace.duration + kLastAnswers + options_.patience;
  }
}

void Coordinator::take_tick(const Message& message, fabric::Time now) {
  if (phase_ != Phase::kLoading && phase_ != Phase::kCollecting) return;
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(message.bytes.data()),
                        message.bytes.size());
  const auto tick = load_ranks::decode_tick(bytes);
  base::Expected<void> taken;
  if (!tick) {
    taken = tl::unexpected(tick.error());
  } else if (tick->rank != static_cast<std::uint32_t>(message.from) || tick->round != round_) {
    taken = base::fail("it is of another rank or round");
  } else {
    taken = gather_.take(*tick, now - start_);
    seconds_ = std::max(seconds_, tick->index + 1);
    elapsed_ = std::max(elapsed_, tick->elapsed);
  }
  if (!taken) {
    cli::complain(
        fmt::format("rank {}: a second's result: {}", message.from, taken.error().message));
  }
  write_seconds(false);
}

void Coordinator::write_seconds(bool all) {
  if (!output_.wants_intervals()) return;
  const auto in_one = static_cast<std::uint64_t>(output_.interval() / fabric::kSecond);
  for (; next_second_ < seconds_ && (all || gather_.complete(round_, next_second_));
       ++next_second_) {
    interval_.merge(gather_.second(round_, next_second_));
    const bool last = all && next_second_ + 1 == seconds_;
    if ((next_second_ + 1) % in_one != 0 && !last) continue;
    // The last one is shorter.
    const fabric::Time end =
        std::min(static_cast<fabric::Time>(next_second_ + 1) * fabric::kSecond, elapsed_);
    if (!output_.add(std::exchange(interval_, {}), start_ - first_start_ + end)) {
      reader_gone_ = true;
    }
  }
  if (next_second_ != 0) gather_.forget(round_, next_second_ - 1);
}

void Coordinator::reduce(fabric::Time now) {
  std::uint64_t capacity = 0;
  for (const Rank& r : ranks_) capacity += r.bytes;
  if (capacity > load_ranks::kMostEncoded) {
    cli::complain("the results of the ranks are too long to be reduced");
    return collect(now, options_.patience);
  }
  enter(Phase::kReducing, now);
  deadline_ = now + options_.patience;
  send_all(Kind::kReduce, encode(Reduce{capacity}));
}

void Coordinator::on_reduced(const base::Expected<std::vector<std::uint8_t>>& bytes,
                             fabric::Time now) {
  if (phase_ != Phase::kReducing) return;
  base::Expected<void> taken;
  if (!bytes) {
    taken = tl::unexpected(bytes.error());
  } else {
    const auto results = load_ranks::decode(*bytes);
    if (results) {
      taken = gather_.take(*results);
    } else {
      taken = tl::unexpected(results.error());
    }
  }
  if (!taken) {
    cli::complain(fmt::format("the results of the ranks: {}", taken.error().message));
    return collect(now, kCollect);
  }
  round_over(now);
}

void Coordinator::round_over(fabric::Time now) {
  write_seconds(true);
  if (++round_ < schedule_.rounds.size() && !interrupted_) return begin_round(now);
  outcome_ = Outcome{report(interrupted_), false};
  enter(Phase::kOver, now);
  send_all(Kind::kEnd);
}

}  // namespace rpcrdma::load_mpi
