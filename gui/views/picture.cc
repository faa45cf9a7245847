#include <QAbstractScrollArea>
#include <QFileInfo>
#include <QPainter>
#include <QPixmap>
#include <QSvgGenerator>

#include <rpcrdma/views/picture.h>

namespace rpcrdma::gui {

QString save_png(QWidget& widget, const QString& path) {
  constexpr qreal kScale = 2;
  QPixmap picture(widget.size() * kScale);
  picture.setDevicePixelRatio(kScale);
  picture.fill(widget.palette().color(QPalette::Window));
  widget.render(&picture);
  if (!picture.save(path, "PNG")) return QObject::tr("%1: cannot be written").arg(path);
  return {};
}

QString save_svg(QWidget& widget, const QString& path) {
  QSvgGenerator svg;
  svg.setFileName(path);
  svg.setSize(widget.size());
  svg.setViewBox(QRect(QPoint(0, 0), widget.size()));
  svg.setTitle(widget.accessibleName());
  QPainter painter;
  if (!painter.begin(&svg)) return QObject::tr("%1: cannot be written").arg(path);
  painter.fillRect(QRect(QPoint(0, 0), widget.size()), widget.palette().color(QPalette::Window));
  widget.render(&painter);
  painter.end();
  // QSvgGenerator does not report a full disk.
  if (QFileInfo(path).size() == 0) return QObject::tr("%1: cannot be written").arg(path);
  return {};
}

}  // namespace rpcrdma::gui
