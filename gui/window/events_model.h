// The rows of the events view: those in the range of time that the view's filter matches.
#pragma once

#include "document.h"

#include <QAbstractTableModel>
#include <vector>

namespace rpcrdma::gui {

class EventsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column : std::uint8_t {
    kTimeColumn,
    kConnectionColumn,
    kKindColumn,
    kDetailsColumn,
    kFrameColumn,
    kColumnCount
  };

  explicit EventsModel(Document& document, QObject* parent = nullptr);

  // Shows events whose kind or details contain `text`; an empty one shows all.
  void set_filter(const QString& text);
  void set_registrations(bool shown);

  [[nodiscard]] std::uint64_t total() const { return events_.size(); }
  [[nodiscard]] std::uint64_t registrations() const { return registrations_; }
  [[nodiscard]] std::uint64_t omitted() const { return omitted_; }  // events beyond the limit
  [[nodiscard]] std::uint64_t frame(int row) const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 Q_SIGNALS:
  void updated();  // rows or numbers

 private:
  struct Event {
    std::int64_t time_ns = 0;
    std::uint64_t frame = 0;
    std::uint32_t connection = 0;
    QString kind, details;
  };
  void read_on();
  void choose_again();
  [[nodiscard]] bool is_shown(const Event& event) const;
  [[nodiscard]] static bool is_registration(const Event& event);

  Document& document_;
  std::vector<Event> events_;
  std::vector<std::size_t> shown_;  // their places in events_
  std::uint64_t registrations_ = 0, omitted_ = 0;
  QString filter_;
  bool with_registrations_ = false;
};

}  // namespace rpcrdma::gui
