// A number as a slider, for trying, and as a field beside it, for saying it exactly.
#pragma once

#include <QWidget>

class QDoubleSpinBox;
class QSlider;

namespace rpcrdma::gui {

class ShareRow : public QWidget {
  Q_OBJECT
 public:
  // The slider reaches up to `slider_most`, and the field to `most`; both in steps of `step`.
  ShareRow(const QString& name, const QString& tip, double slider_most, double most, double step,
           const QString& unit, QWidget* parent = nullptr);

  [[nodiscard]] double value() const;
  void set_value(double value);
  void set_least(double least);
  void set_most(double most);

 Q_SIGNALS:
  void changed();

 private:
  double step_;
  QSlider* slider_;
  QDoubleSpinBox* field_;
};

}  // namespace rpcrdma::gui
