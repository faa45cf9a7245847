// The parts of the time of Calls: a line for each, with its bars and its numbers in words.
#pragma once

#include <QWidget>

#include <rpcrdma/views/latency_view.h>

namespace rpcrdma::gui {

class LatencyParts : public QWidget {
  Q_OBJECT

 public:
  explicit LatencyParts(QWidget* parent = nullptr);
  void set_parts(std::vector<LatencyProcedure::Part> parts);
  // Above the parts: of which Calls they are. Without parts: why there are none.
  void set_note(const QString& text);
  // All that is written, a line each.
  [[nodiscard]] QStringList lines() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  [[nodiscard]] QSize sizeHint() const override;

 private:
  [[nodiscard]] int note_height() const;
  [[nodiscard]] bool is_narrow() const;
  [[nodiscard]] static QString numbers(const LatencyProcedure::Part& part);
  void fit();

  std::vector<LatencyProcedure::Part> parts_;
  QString note_;
};

}  // namespace rpcrdma::gui
