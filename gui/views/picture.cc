#include <QAbstractScrollArea>
#include <QBuffer>
#include <QPainter>
#include <QPixmap>
#include <QSvgGenerator>

#include <rpcrdma/base/whole_file.h>
#include <rpcrdma/views/picture.h>

namespace rpcrdma::gui {
namespace {

QString write(const QString& path, const QByteArray& picture) {
  const std::string_view bytes(picture.constData(), static_cast<std::size_t>(picture.size()));
  const auto written =
      base::write_whole(path.toStdString(), [&](const base::Write& to) { to(bytes); });
  return written ? QString() : QString::fromStdString(written.error().message);
}

}  // namespace

QString save_png(QWidget& widget, const QString& path) {
  constexpr qreal kScale = 2;
  QPixmap picture(widget.size() * kScale);
  picture.setDevicePixelRatio(kScale);
  picture.fill(widget.palette().color(QPalette::Window));
  widget.render(&picture);
  QBuffer buffer;
  if (!picture.save(&buffer, "PNG")) return QObject::tr("%1: cannot be written").arg(path);
  return write(path, buffer.data());
}

QString save_svg(QWidget& widget, const QString& path) {
  QBuffer buffer;
  QSvgGenerator svg;
  svg.setOutputDevice(&buffer);
  svg.setSize(widget.size());
  svg.setViewBox(QRect(QPoint(0, 0), widget.size()));
  svg.setTitle(widget.accessibleName());
  QPainter painter;
  if (!painter.begin(&svg)) return QObject::tr("%1: cannot be written").arg(path);
  painter.fillRect(QRect(QPoint(0, 0), widget.size()), widget.palette().color(QPalette::Window));
  widget.render(&painter);
  painter.end();
  return write(path, buffer.data());
}

}  // namespace rpcrdma::gui
