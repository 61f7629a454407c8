/* The files of the live page, which are in the binary: X(name, "/path", "content type", "file"), the file being one of
 * src/program/admin/page. Embedded by src/program/admin/embed.cmake, which reads this table. No guard. */
X(index, "/", "text/html; charset=utf-8", "index.html")
X(style, "/page/style.css", "text/css; charset=utf-8", "style.css")
X(icon, "/page/icon.svg", "image/svg+xml", "icon.svg")
X(main, "/page/main.js", "text/javascript; charset=utf-8", "main.js")
X(poll, "/page/poll.js", "text/javascript; charset=utf-8", "poll.js")
X(format, "/page/format.js", "text/javascript; charset=utf-8", "format.js")
X(model, "/page/model.js", "text/javascript; charset=utf-8", "model.js")
X(dom, "/page/dom.js", "text/javascript; charset=utf-8", "dom.js")
X(chart, "/page/chart.js", "text/javascript; charset=utf-8", "chart.js")
X(tiles, "/page/tiles.js", "text/javascript; charset=utf-8", "tiles.js")
X(activity, "/page/activity.js", "text/javascript; charset=utf-8", "activity.js")
X(tables, "/page/tables.js", "text/javascript; charset=utf-8", "tables.js")
