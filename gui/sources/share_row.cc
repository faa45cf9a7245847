#include "share_row.h"

#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QSlider>
#include <algorithm>
#include <cmath>

namespace rpcrdma::gui {

namespace {

int steps_of(double value, double step) {
  return static_cast<int>(std::lround(value / step));
}

}  // namespace

ShareRow::ShareRow(const QString& name, const QString& tip, double slider_most, double most,
                   double step, const QString& unit, QWidget* parent)
    : QWidget(parent),
      step_(step),
      slider_(new QSlider(Qt::Horizontal, this)),
      field_(new QDoubleSpinBox(this)) {
  slider_->setRange(0, steps_of(slider_most, step));
  slider_->setPageStep(std::max(1, steps_of(slider_most, step) / 10));
  slider_->setAccessibleName(name);
  slider_->setToolTip(tip);
  field_->setRange(0, most);
  field_->setSingleStep(step);
  field_->setDecimals(step < 1 ? 1 : 0);
  field_->setSuffix(unit);
  field_->setKeyboardTracking(false);
  field_->setAccessibleName(name);
  field_->setToolTip(tip);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(slider_, 1);
  layout->addWidget(field_);
  // The same width aligns fields in different rows.
  field_->setMinimumWidth(fontMetrics().horizontalAdvance(QStringLiteral("1000000.0 ms")) +
                          fontMetrics().height() * 2);
  setFocusProxy(field_);
  connect(slider_, &QSlider::valueChanged, this,
          [this](int steps) { field_->setValue(steps * step_); });
  connect(field_, &QDoubleSpinBox::valueChanged, this, [this](double value) {
    const QSignalBlocker quiet(slider_);
    slider_->setValue(steps_of(value, step_));
    Q_EMIT changed();
  });
}

double ShareRow::value() const {
  return field_->value();
}

void ShareRow::set_value(double value) {
  field_->setValue(value);
}

void ShareRow::set_least(double least) {
  field_->setMinimum(least);
  slider_->setMinimum(steps_of(least, step_));
}

void ShareRow::set_most(double most) {
  field_->setMaximum(most);
  slider_->setMaximum(steps_of(most, step_));
}

}  // namespace rpcrdma::gui
