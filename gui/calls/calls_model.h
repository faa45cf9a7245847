// The rows of the Calls view: one for each Call of a CallList.
#pragma once

#include "call_list.h"

#include <QAbstractTableModel>
#include <QHash>
#include <array>

namespace rpcrdma::gui {

enum class CallColumn : std::uint8_t {
  kStatus,
  kTime,
  kConnection,
  kCall,
  kUp,
  kDown,
  kLatency,
  kParts,
  kOperations,
  kXid,
};
inline constexpr int kCallColumns = 10;

// How a Call ended, or that it has not.
enum class CallFate : std::uint8_t { kOk, kError, kUnanswered, kInFlight };

// One Call as the view shows it.
struct CallRow {
  std::uint64_t id = 0;
  CallFate fate = CallFate::kInFlight;
  QString outcome;  // "ok", "NFS4ERR_NOENT"
  std::int64_t time_ns = 0;
  std::int64_t latency_ns = -1;
  std::uint32_t connection = 0;  // ID
  std::uint32_t xid = 0;
  bool reverse = false;
  QString procedure;  // "NFS v4 READ"
  QString request;    // "READ 64 KiB at 1 MiB of big"
  std::int64_t up = -1, down = -1;  // bytes from the requester and to it; -1: not known
  std::uint32_t operations = 0;
  index::CallDetail::Parts parts = index::CallDetail::Parts::kNone;
  std::array<std::int64_t, 3> part{-1, -1, -1};  // ns
  // Where its latency is among those of its procedure: 0 up to p90, 1 up to p99, 2 above.
  int slowness = 0;
  // On a logarithmic scale from 1 us to the longest latency of the document.
  double length = 0;
};

class CallsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  CallsModel(Document& document, CallList& list, QObject* parent = nullptr);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& at, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;
  // Time and latency only.
  void sort(int column, Qt::SortOrder order) override;

  [[nodiscard]] CallRow call(int row) const;
  // Reads the percentiles of latency again.
  void note_latencies();
  // "1,190 Calls, p50 35.1 us, p99 211 us, the slowest 2.390 s"
  [[nodiscard]] QString totals() const;

  [[nodiscard]] static QString part_name(index::CallDetail::Parts parts, std::size_t part);
  [[nodiscard]] static QString parts_text(const CallRow& row);

 private:
  [[nodiscard]] QString text(const CallRow& row, CallColumn column) const;
  [[nodiscard]] QString help(const CallRow& row) const;

  Document& document_;
  CallList& list_;
  struct Limits {
    std::int64_t p90 = 0, p99 = 0;
  };
  QHash<QString, Limits> limits_;  // by procedure
  std::int64_t longest_ns_ = 0, p50_ = 0, p99_ = 0;
};

}  // namespace rpcrdma::gui
