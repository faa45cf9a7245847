// Helpers for tests of several views.
#pragma once

#include <QFile>
#include <QImage>
#include <QTemporaryDir>
#include <QXmlStreamReader>

#include <gtest/gtest.h>

#include <rpcrdma/views/palettes.h>
#include <rpcrdma/views/picture.h>

namespace rpcrdma::gui {

// A widget gets its size only when it is shown.
inline void show(QWidget& widget, int width, int height) {
  widget.resize(width, height);
  widget.show();
}

struct SvgText {
  QStringList texts;
  int images = 0;  // bitmap parts
};

// Returns the texts that a widget draws, from its SVG picture.
inline SvgText svg_of(QWidget& widget) {
  const QTemporaryDir folder;
  const QString path = folder.filePath("a.svg");
  EXPECT_EQ(save_svg(widget, path), QString());
  QFile file(path);
  EXPECT_TRUE(file.open(QIODevice::ReadOnly));
  SvgText found;
  QXmlStreamReader xml(&file);
  while (!xml.atEnd()) {
    if (xml.readNext() != QXmlStreamReader::StartElement) continue;
    if (xml.name() == QLatin1String("text")) {
      found.texts << xml.readElementText(QXmlStreamReader::IncludeChildElements);
    } else if (xml.name() == QLatin1String("image")) {
      ++found.images;
    }
  }
  EXPECT_FALSE(xml.hasError()) << xml.errorString().toStdString();
  return found;
}

// Counts pixels similar to `colour`.
inline int dots_of(QWidget& widget, const QColor& colour) {
  const QImage image = widget.grab().toImage();
  int dots = 0;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) dots += image.pixelColor(x, y) == colour ? 1 : 0;
  }
  return dots;
}

}  // namespace rpcrdma::gui
