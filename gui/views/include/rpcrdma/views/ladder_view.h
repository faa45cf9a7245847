// A sequence diagram of messages, RDMA operations and events between the two peers of a connection,
// as in protocol textbooks.
#pragma once

#include <QAbstractScrollArea>
#include <QToolButton>
#include <cstdint>
#include <functional>
#include <vector>

namespace rpcrdma::gui {

struct LadderItem {
  enum class Kind : std::uint8_t {
    kCall,
    kReply,
    kError,
    kControl,
    kRead,
    kWrite,
    kSetUp,
    kRecorded
  };
  Kind kind = Kind::kCall;
  quint64 message = 0;   // ID; 0: not a message
  quint64 exchange = 0;  // ID of the Call that it belongs to; 0: none
  quint64 frame = 0;
  std::int64_t from_ns = 0, to_ns = 0;
  int side = 0;  // the sender or reporter: 0 the left one
  bool reverse = false;
  bool sent_again = false;
  bool incomplete = false;
  int severity = -1;  // severity of the worst finding; -1: none
  QString label, detail;
};

class LadderView : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit LadderView(QWidget* parent = nullptr);

  void set_peers(const QString& left, const QString& right);
  // Items are in order of time. `start_ns`: times count from there. The selected item, or else the
  // first visible one, keeps its place on screen.
  void set_items(std::vector<LadderItem> items, std::int64_t start_ns);
  // How the first visible item writes its time; the others write the time since the one above.
  void set_time_writer(std::function<QString(std::int64_t)> write);
  void set_selected(quint64 message);
  [[nodiscard]] const std::vector<LadderItem>& items() const { return items_; }
  [[nodiscard]] QRect rect_of(std::size_t item) const;  // in the viewport
  // Distances show the time between items. One more than ten times as long as is usual is folded.
  void set_to_scale(bool on);
  [[nodiscard]] bool is_to_scale() const { return scale_->isChecked(); }
  // Whether the time before the item is folded.
  [[nodiscard]] bool is_folded(std::size_t item) const;

 Q_SIGNALS:
  void message_selected(quint64 id);
  void frame_selected(quint64 frame);
  // Emitted when the user scrolls to an end of the items.
  void more_wanted(bool before);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;

 private:
  [[nodiscard]] int row_height() const;
  [[nodiscard]] int top() const;
  [[nodiscard]] int left_line() const;  // x of the life lines
  [[nodiscard]] int right_line() const;
  // The item at a height in the viewport; items().size() or more: none.
  [[nodiscard]] std::size_t item_at(int y) const;
  void layout();
  void measure();
  // Where an item begins, in pixels from the first one.
  [[nodiscard]] std::int64_t y_of(std::size_t item) const;
  void draw_gap(QPainter& painter, const QRect& room, std::size_t item) const;
  void draw(QPainter& painter, const LadderItem& item, int y, const LadderItem* before) const;
  void choose(std::size_t item);
  // Returns the item with the same message, or else the same frame; items_.size() if there is none.
  [[nodiscard]] std::size_t find(quint64 message, quint64 frame) const;

  QString left_, right_;
  std::vector<LadderItem> items_;
  std::int64_t start_ns_ = 0;
  std::function<QString(std::int64_t)> write_time_;
  quint64 selected_ = 0;
  quint64 exchange_ = 0;  // exchange of the selected message
  std::size_t current_ = 0;
  bool setting_ = false;  // the view itself scrolls, not the user
  QToolButton* scale_;
  std::vector<std::int64_t> ends_;  // y below each item, while distances are to scale
  std::int64_t usual_ns_ = 0;       // the median time between items
};

}  // namespace rpcrdma::gui
