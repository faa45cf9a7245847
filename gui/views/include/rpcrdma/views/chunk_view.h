// The chunks of one Call: each segment to scale, with the RDMA operations that moved its bytes.
#pragma once

#include <QAbstractScrollArea>
#include <cstdint>
#include <optional>
#include <vector>

namespace rpcrdma::gui {

struct ChunkPicture {
  struct Operation {
    bool read = false;
    std::uint64_t offset = 0;  // in its segment, bytes
    std::uint64_t length = 0;  // as requested
    std::uint64_t bytes = 0;   // as captured
    std::uint64_t first_frame = 0, last_frame = 0;
    std::int64_t first_ns = 0, last_ns = 0;
    bool complete = true, suspect = false, sent_again = false;
  };
  struct Segment {
    std::uint32_t handle = 0;
    std::uint64_t offset = 0;  // virtual address
    std::uint64_t length = 0;
    std::uint64_t moved = 0;
    std::vector<Operation> operations;
  };
  enum class List : std::uint8_t { kRead, kWrite, kReply, kReplyRead };
  struct Chunk {
    List list = List::kRead;
    std::uint32_t index = 0;
    std::uint32_t position = 0;  // of a Read chunk
    std::vector<Segment> segments;
  };
  QString title;
  std::vector<Chunk> chunks;
};

class ChunkView : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit ChunkView(QWidget* parent = nullptr);
  void set_picture(ChunkPicture picture);
  [[nodiscard]] const ChunkPicture& picture() const { return picture_; }
  // Returns the rectangle of an operation, in the viewport, for clicks.
  [[nodiscard]] QRect rect_of(std::size_t chunk, std::size_t segment, std::size_t operation) const;
  // Returns the ranges of a segment that no operation moved, as from and to.
  [[nodiscard]] static std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps(
      const ChunkPicture::Segment& segment);
  // Returns the tooltip at a point: of an operation and its segment, or of a segment; else empty.
  [[nodiscard]] QString text_at(const QPoint& point) const;

 Q_SIGNALS:
  void frame_selected(quint64 frame);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  struct Place {
    std::size_t chunk = 0, segment = 0, operation = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };
  [[nodiscard]] int row_height() const;
  [[nodiscard]] QRect bar(int y) const;
  [[nodiscard]] int y_of(std::size_t chunk, std::size_t segment) const;
  [[nodiscard]] std::uint64_t longest() const;
  [[nodiscard]] std::vector<Place> places() const;
  [[nodiscard]] std::optional<Place> at(const QPoint& point) const;
  void layout();
  void choose(const Place& place);

  ChunkPicture picture_;
  std::optional<Place> chosen_;
};

}  // namespace rpcrdma::gui
