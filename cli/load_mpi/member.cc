#include "member.h"

#include "input.h"

#include <utility>

#include <fmt/core.h>

#include <rpcrdma/service/loop.h>

namespace rpcrdma::load_mpi {
namespace {

constexpr fabric::Time kBeat = fabric::kSecond / 2;
// A load reports each second.
constexpr fabric::Time kLongestTick = 5 * fabric::kSecond / 2;

std::string text_of(const std::vector<std::uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Member::Member(Channel& channel, const cli::LoadOptions& load, MemberOptions options,
               const Hello& hello)
    : channel_(channel),
      load_(load),
      options_(std::move(options)),
      hello_(hello),
      heard_(service::Loop::read_clock()) {
  channel_.send(0, Kind::kHello, encode(hello));
}

void Member::on(const Message& message, fabric::Time now) {
  if (message.from != 0) return;
  heard_ = now;
  switch (message.kind) {
    case Kind::kServe: {
      auto server = cli::ServerChild::start(options_.serve);
      if (server) {
        server_.emplace(std::move(*server));
      } else {
        channel_.send(0, Kind::kServing, encode(Ready{server.error()}));
      }
      break;
    }
    case Kind::kWork:
      begin_round(message);
      break;
    case Kind::kPing:
      if (auto ping = decode_ping(message.bytes)) {
        ping->remote = service::Loop::read_clock();
        channel_.send(0, Kind::kPong, encode(*ping));
      }
      break;
    case Kind::kStart:
      if (const auto start = decode_start(message.bytes)) {
        loading_ = run_ != nullptr;
        ticked_ = now;
        cli::LoadRole role;
        role.rank = static_cast<std::uint32_t>(channel_.rank());
        role.round = round_;
        role.host = hello_.host;
        role.offset = load_ranks::ClockOffset{start->offset, start->error};
        role.since_first = start->since_first;
        if (run_) {
          run_->start(start->at, role);
        } else {
          keep({});
        }
      }
      break;
    case Kind::kReduce:
      if (const auto reduce = decode_reduce(message.bytes); reduce && result_) {
        reduction_ = std::make_unique<Reduction>(channel_.communicator(), *result_,
                                                 static_cast<std::size_t>(reduce->capacity));
      }
      break;
    case Kind::kCollect:
      collect();
      break;
    case Kind::kEnd:
      run_.reset();
      server_.reset();
      ended_ = true;
      break;
    default:
      break;
  }
}

void Member::begin_round(const Message& message) {
  const auto work = decode_work(message.bytes);
  if (!work) {
    channel_.send(0, Kind::kReady, encode(Ready{"this rank runs another version"}));
    return;
  }
  round_ = work->round;
  result_.reset();
  ready_ = collected_ = false;
  run_.reset();
  if (work->servers.empty()) {
    ready_ = true;
    channel_.send(0, Kind::kReady, encode(Ready{}));
  } else {
    cli::LoadOptions load = load_;
    // Each round writes its own files.
    for (std::string* const file :
         {&load.raw, &load.endpoint.pcapng, &load.endpoint.tracing.record}) {
      if (!file->empty() && round_ != 0) *file += fmt::format(".{}", round_);
    }
    run_ = std::make_unique<cli::RoundRun>(std::move(load), work->servers);
  }
}

void Member::poll(fabric::Time now) {
  poll_server();
  if (run_) poll_round(now);
  if (reduction_ && reduction_->complete()) {
    if (channel_.rank() == 0) reduced_ = reduction_->result();
    reduction_.reset();
    result_.reset();
  }
  // A load that hangs is silent.
  const bool lives = !loading_ || now - ticked_ < kLongestTick;
  if (lives && now - beat_ >= kBeat) send_beat(now, {});
  // This process was stopped, so that it could not hear rank 0.
  if (now - polled_ > fabric::kSecond) heard_ = now;
  polled_ = now;
}

void Member::poll_server() {
  if (!server_) return;
  const auto state = server_->poll();
  if (!state) return;
  if (!serving_) {
    serving_ = true;
    channel_.send(0, Kind::kServing, encode(Ready{*state ? "" : state->error()}));
  }
  if (*state) return;
  cli::complain(state->error());
  server_.reset();
}

void Member::poll_round(fabric::Time now) {
  if (!ready_) {
    const auto connected = run_->connected();
    if (!connected) return;
    ready_ = true;
    channel_.send(0, Kind::kReady, encode(Ready{*connected ? "" : connected->error()}));
  }
  // Ticks first: none comes after the result.
  auto result = run_->take_result();
  while (const auto tick = run_->take_tick()) {
    ticked_ = now;
    send_beat(now, text_of(load_ranks::encode(*tick)));
  }
  if (!result) return;
  loading_ = false;
  keep(*result);
}

void Member::keep(const load_ranks::Results& results) {
  result_ = load_ranks::encode(results);
  if (stopping_) return collect();
  channel_.send(0, Kind::kDone, encode(Done{round_, result_->size()}));
}

void Member::collect() {
  stopping_ = true;
  if (collected_) return;
  if (loading_ && run_ && !result_) return run_->stop();  // comes back with the result
  if (run_) run_->stop();
  collected_ = true;
  channel_.send(0, Kind::kResult, result_ ? text_of(*result_) : std::string());
}

void Member::interrupt() {
  collect();
}

void Member::send_beat(fabric::Time now, std::string bytes) {
  beat_ = now;
  channel_.send(0, Kind::kBeat, std::move(bytes));
}

bool Member::forsaken(fabric::Time now) const {
  // One after the other, so that one rank says it.
  const fabric::Time turn = 100 * fabric::kMillisecond * (channel_.rank() % 64);
  return channel_.rank() != 0 && now - heard_ > options_.patience + turn;
}

std::optional<base::Expected<std::vector<std::uint8_t>>> Member::take_reduced() {
  return std::exchange(reduced_, std::nullopt);
}

}  // namespace rpcrdma::load_mpi
