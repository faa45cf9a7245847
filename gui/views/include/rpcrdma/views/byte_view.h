// Shows bytes as offset, hexadecimal digits and ASCII. Paints only the visible lines.
#pragma once

#include <QAbstractScrollArea>
#include <QByteArray>
#include <cstddef>
#include <vector>

namespace rpcrdma::gui {

struct ByteField {
  std::size_t offset = 0, length = 0;
  int id = 0;
};

class ByteView : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit ByteView(QWidget* parent = nullptr);

  void set_bytes(const QByteArray& bytes);
  // Sets the fields that the user can point at.
  void set_fields(std::vector<ByteField> fields);
  // Highlights these bytes and scrolls to them; length 0: none.
  void set_marked(std::size_t offset, std::size_t length);

  [[nodiscard]] const QByteArray& bytes() const { return bytes_; }
  [[nodiscard]] std::pair<std::size_t, std::size_t> marked() const { return {marked_, length_}; }
  [[nodiscard]] int bytes_per_line() const;
  // Returns where the hexadecimal digits of a byte are painted, in the viewport.
  [[nodiscard]] QRect rect_of(std::size_t offset) const;

  enum class CopyAs : std::uint8_t { kHex, kText, kArray };
  // Returns the highlighted bytes, or all.
  [[nodiscard]] QString copy(CopyAs as) const;

 Q_SIGNALS:
  // Emitted with the smallest field that holds the clicked byte.
  void field_selected(int id);

 protected:
  void changeEvent(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  [[nodiscard]] int line_height() const;
  [[nodiscard]] int character() const;
  [[nodiscard]] int digits() const;  // width of an offset
  [[nodiscard]] int hex_x(int column) const;
  [[nodiscard]] int text_x(int column) const;
  [[nodiscard]] std::ptrdiff_t byte_at(const QPoint& at) const;  // -1: none
  [[nodiscard]] const ByteField* field_of(std::size_t offset) const;
  [[nodiscard]] QString spoken(std::size_t offset, std::size_t length) const;
  void layout();
  void show_byte(std::size_t offset);
  void choose(std::size_t offset);

  QByteArray bytes_;
  std::vector<ByteField> fields_;
  std::size_t marked_ = 0, length_ = 0;
  std::size_t cursor_ = 0;
  const ByteField* hovered_ = nullptr;
};

}  // namespace rpcrdma::gui
