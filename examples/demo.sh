#!/bin/sh
# demo.sh: the main job on a real screenshot: health, a crop, black and white
# text, and a description where a model server answers. Results go to .demo.
set -eu

cd "$(dirname "$0")/.."
command -v go >/dev/null || {
  echo "demo: Go is missing; install it (apt-get install golang, or a newer one from the Go project)" >&2
  exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/visions" ./cmd/visions
visions=$work/visions
page=$PWD/examples/demo/page.png
out=$PWD/.demo
rm -rf "$out"
mkdir -p "$out"

echo "== what works here"
"$visions" doctor

echo "== cut out the cards, at full resolution"
"$visions" call preprocess_and_crop "{\"image_source\":\"$page\",\"region\":{\"left\":230,\"top\":90,\"width\":1020,\"height\":150}}" -o "$out"

echo "== read its text"
if command -v tesseract >/dev/null; then
  "$visions" call fast_ocr_tesseract "{\"image_source\":\"$page\"}" | tee "$out/text.json"
else
  echo "skipped: there is no tesseract; run: apt-get install tesseract-ocr"
fi

echo "== black and white, as OCR likes it"
"$visions" call preprocess_and_crop "{\"image_source\":\"$page\",\"grayscale\":true,\"threshold\":\"adaptive\"}" -o "$out"

echo "== what changed after an edit of the page, as a person sees it"
"$visions" call visual_diff "{\"image_sources\":[\"$page\",\"$PWD/examples/demo/after.png\"],\"method\":\"perceptual\",\"analyze\":false}" -o "$out"

echo "== text that is hard to read after the edit, framed"
"$visions" call measure_image "{\"image_source\":\"$PWD/examples/demo/after.png\",\"mode\":\"contrast\",\"annotate\":true}" -o "$out"

echo "== description by a vision model"
health=$("$visions" call check_vision_health)
case $health in
*'"vision_models":["'*)
  model=$(printf '%s' "$health" | sed 's/.*"vision_models":\["\([^"]*\)".*/\1/')
  "$visions" call analyze_image "{\"image_source\":\"$page\",\"model\":\"$model\"}" | tee "$out/description.json"
  ;;
*'"connected":true'*) echo "skipped: the model server has no vision model; run: ollama pull llava:13b" ;;
*) echo "skipped: no model server answers; start Ollama (ollama serve) or set OLLAMA_HOST" ;;
esac

echo "== written"
ls "$out"/*
