// A number with a slider for rough changes and a field for exact values.
#pragma once

#include <QWidget>

class QDoubleSpinBox;
class QSlider;

namespace rpcrdma::gui {

class ShareRow : public QWidget {
  Q_OBJECT
 public:
  // The slider's maximum is `slider_most`, the field's is `most`; both move in steps of `step`.
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
