// Results and intervals of the ranks of a load, as they come by ssh and MPI.
#include "fuzz_check.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <rpcrdma/load_ranks/gather.h>
#include <rpcrdma/load_ranks/report.h>
#include <rpcrdma/load_ranks/results.h>
#include <rpcrdma/load_ranks/tick.h>

namespace {

using namespace rpcrdma;

void check_tick(std::span<const std::uint8_t> bytes) {
  const auto tick = load_ranks::decode_tick(bytes);
  if (!tick) return;
  const std::vector<std::uint8_t> again = load_ranks::encode(*tick);
  fuzz::require(load_ranks::decode_tick(again).has_value());
  load_ranks::Gather gather;
  load_ranks::Row row;
  row.rank = tick->rank;
  row.round = tick->round;
  gather.expect(row);
  fuzz::require(gather.take(*tick, 1).has_value());
  gather.give_up(row.round, row.rank, load_ranks::State::kDead, "it ended");
  fuzz::require(gather.finish().rows.size() == 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  check_tick(bytes);
  const auto results = load_ranks::decode(bytes);
  if (!results) return 0;
  // The same results have the same bytes.
  const std::vector<std::uint8_t> written = load_ranks::encode(*results);
  const auto again = load_ranks::decode(written);
  fuzz::require(again.has_value());
  fuzz::require(load_ranks::encode(*again) == written);
  // Merged with nothing they stay the same; with themselves they are refused, unless they are none.
  const auto empty = load_ranks::encode(load_ranks::Results());
  const auto merged = load_ranks::merge_encoded(written, empty);
  fuzz::require(merged.has_value() && *merged == written);
  load_ranks::Results twice = *results;
  fuzz::require(results->rows.empty() || !load_ranks::merge(twice, *again).has_value());
  const load_ranks::WholeSetup setup;
  const auto whole = load_ranks::derive(setup, *results, {});
  fuzz::require(!load_ranks::to_text(setup, *results, whole).empty());
  fuzz::require(!load_ranks::to_json(setup, *results, whole).empty());
  return 0;
}
