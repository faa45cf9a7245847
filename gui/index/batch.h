// What a Collector found since its last commit, on its way into the store. Connections have their
// canonical indices.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <rpcrdma/index/store.h>
#include <rpcrdma/rules/findings.h>

namespace rpcrdma::index {

struct Batch {
  struct Patch {  // of a row that is in the store, or in `rows`
    std::uint64_t message;
    std::int64_t latency_ns;
    std::uint64_t match;
    std::uint64_t moved;
    std::uint32_t operations;
    std::uint32_t procedure;
    bool over;
    std::uint32_t outcome;  // of a Reply that a Read chunk held
  };
  struct Detail {  // of a Call
    std::uint64_t message;
    CallDetail detail;
  };
  struct Credit {
    std::uint32_t connection;
    std::uint8_t side;
    bool has_grant;  // otherwise the grant of the previous entry is still valid
    CreditEntry entry;
  };
  struct Violation {
    const rules::Rule* rule;
    rules::Severity severity;
    std::uint32_t connection;  // ID
    std::string peer, role, text;
    const char* advice;
    std::uint64_t message, frame, count;
    rules::Span span;
    rules::ReportPhase phase;
    std::uint64_t of;     // rules::Evidence::of
    std::uint32_t topic;  // its topic, used with `of`
  };
  struct Ended {  // a Call
    report::ProcedureKey key;
    std::uint32_t procedure;
    bool error;
    std::int64_t latency, before, data, after;  // -1: not known
    std::uint64_t message, frame;
    std::int64_t time_ns;
  };
  struct Parts {  // parts of a Call's time, as its endpoint reports them
    report::ProcedureKey key;
    std::array<std::int64_t, 7> ns;  // -1: none
  };
  struct Moved {
    std::uint32_t connection;
    std::uint8_t list;
    std::int64_t time_ns;
    std::uint64_t bytes;
  };
  struct Signal {
    std::uint32_t connection;
    std::uint8_t side;
    bool cnp;
    std::int64_t time_ns;
  };
  struct Paused {
    std::uint8_t classes;
    bool by_class;
    std::int64_t time_ns;
  };
  struct StatesSample {
    std::uint32_t connection;
    std::int64_t time_ns;
    states::Counts counts;
  };
  struct Offered {
    std::uint32_t connection;
    std::uint8_t list;
    std::uint64_t length;
  };

  std::vector<MessageRow> rows;
  std::vector<Patch> patches;
  std::vector<Detail> details;
  std::vector<Credit> credits;
  std::vector<Violation> violations;
  std::vector<Ended> ended;
  std::vector<Parts> parts;
  std::vector<Moved> moved;
  std::vector<Offered> offered;
  std::vector<Signal> signals;
  std::vector<Paused> paused;
  std::vector<StatesSample> samples;
  std::vector<Notable> notable;
  std::uint64_t notable_omitted = 0;
  std::vector<capture::Mark> marks;
  std::vector<ProcedureText> procedures;
  std::vector<Outcome> outcomes;
  std::vector<std::string> files;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> set_up;    // connection, frame
  std::vector<std::pair<std::uint32_t, std::uint32_t>> merged;    // from, into
  std::vector<std::pair<std::uint32_t, ConnectionInfo>> touched;  // index, current state
  std::vector<ConnectionInfo> evicted;
  // As of the end of the batch.
  std::shared_ptr<const report::Report> report;
  Integrity integrity;
  std::int64_t first_ns = 0, last_ns = 0;
  std::uint64_t bytes_read = 0, bytes_total = 0;
  bool last = false;  // the source has ended

  // Keeps the memory of the lists.
  void clear();
};

}  // namespace rpcrdma::index
