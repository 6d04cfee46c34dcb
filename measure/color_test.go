package measure

import (
	"image/color"
	"math"
	"strings"
	"testing"
	"testing/quick"

	"golang.org/x/image/colornames"
)

func parse(t testing.TB, s string) color.NRGBA {
	t.Helper()
	c, err := ParseColor(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestContrastRatio(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"black", "white", 21}, {"white", "white", 1}, {"#777", "white", 4.478}, {"#767676", "#fff", 4.542},
		{"#595959", "white", 7.0047}, {"red", "white", 3.998}, {"blue", "white", 8.592}, {"#484f58", "#1a1814", 2.14}, {"#e8dfd0", "#1a1814", 13.42},
	} {
		a, b := parse(t, c.a), parse(t, c.b)
		if got := ContrastRatio(a, b); math.Abs(got-c.want) > 0.005 || got != ContrastRatio(b, a) {
			t.Errorf("%s on %s: %.4f, want %.4f", c.a, c.b, got, c.want)
		}
	}
	if l := RelativeLuminance(color.NRGBA{255, 255, 255, 255}); math.Abs(l-1) > 1e-12 {
		t.Errorf("white has luminance %v", l)
	}
}

// The pairs that APCA-W3's README gives for checking an implementation.
func TestAPCA(t *testing.T) {
	for _, c := range []struct {
		text, bg string
		want     float64
	}{
		{"#888", "#fff", 63.056469930209424}, {"#fff", "#888", -68.54146436644962},
		{"#000", "#aaa", 58.146262578561334}, {"#aaa", "#000", -56.24113336839742},
		{"#123", "#def", 91.66830811481631}, {"#def", "#123", -93.06770049484275},
		{"#123", "#234", 1.1267584839203}, {"#234", "#123", -1.1267584839203}, {"#fff", "#fff", 0},
	} {
		got := APCA(parse(t, c.text), parse(t, c.bg))
		if c.text == "#123" && c.bg == "#234" || c.text == "#234" {
			c.want = 0 // below the low clip
		}
		if math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s on %s: Lc %.6f, want %.6f", c.text, c.bg, got, c.want)
		}
	}
}

func TestParseColor(t *testing.T) {
	for s, want := range map[string]color.NRGBA{
		"white": {255, 255, 255, 255}, " ReD\n": {255, 0, 0, 255}, "RebeccaPurple": {0x66, 0x33, 0x99, 255}, "transparent": {},
		"grey": {128, 128, 128, 255}, "darkslategrey": {0x2f, 0x4f, 0x4f, 255},
		"#1a2": {0x11, 0xaa, 0x22, 255}, "#1A2b": {0x11, 0xaa, 0x22, 0xbb}, "#0102fe": {1, 2, 0xfe, 255}, "#01020304": {1, 2, 3, 4},
		"rgb(1,2,3)": {1, 2, 3, 255}, "rgb( 1 , 2 , 3 )": {1, 2, 3, 255}, "rgb(1 2 3)": {1, 2, 3, 255}, "rgba(1,2,3,.5)": {1, 2, 3, 128},
		"rgb(1 2 3 / 50%)": {1, 2, 3, 128}, "RGB(100%, 0%, 50%)": {255, 0, 128, 255}, "rgb(100% 0 50%)": {255, 0, 128, 255}, "rgb(12.6 0 1e1)": {13, 0, 10, 255},
		"hsl(120,100%,25%)": {0, 128, 0, 255}, "hsl(120deg 100% 25%)": {0, 128, 0, 255}, "hsl(-240 100 25)": {0, 128, 0, 255}, "hsl(.5turn 100% 50% / 1)": {0, 255, 255, 255},
		"hsla(400grad,100%,50%,0)": {255, 0, 0, 0}, "hsl(0 0% 50%)": {128, 128, 128, 255},
	} {
		if got, err := ParseColor(s); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", s, got, err, want)
		}
	}
	for name, rgba := range colornames.Map {
		if got, err := ParseColor(strings.ToUpper(name)); err != nil || got != color.NRGBA(rgba) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestParseColorIsStrict(t *testing.T) {
	for s, says := range map[string]string{
		"": "empty", "#": "0 hex digits", "#12": "3, 4, 6 or 8", "#12345": "3, 4, 6 or 8", "#1g2233": `"g"`, "1a1a1a": "no such", "#+12": `"+"`,
		"rgb(1,2)": "2 components", "rgb(1 2)": "2 components", "rgb(1,2,3,4,5)": "5 components", "rgb(256,0,0)": "want 0 to 255", "rgb(-1,0,0)": "want 0 to 255",
		"rgb(1,2,3": "closing", "rgb(1%,2,3)": "mixed", "rgb(1,2,3,2)": "alpha is 2", "rgb(1,2,3/1)": "do not go together", "rgb(a,2,3)": "not a number",
		"rgb(nan 0 0)": "not a number", "rgb(0x10 0 0)": "unit", "rgb(1. 0 0)": "not a number", "rgb(1px 0 0)": "unit",
		"hsl(0,1,2)": "percent sign", "hsl(0 101% 0%)": "0 to 100", "hsl(1e9 0% 0%)": "angle", "hsl(1furlong 0% 0%)": "angle",
		"hwb(0 0% 0%)": "not read", "currentcolor": "no such", "blurple": "no such", "red;": "no such",
	} {
		if got, err := ParseColor(s); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, %v; want an error with %q", s, got, err, says)
		}
	}
}

func FuzzParseColor(f *testing.F) {
	for _, s := range []string{"#abc", "rgb(1 2 3 / 4%)", "hsl(1e3rad,5%,6%,.7)", "navy", "rgb(,,)", "#ééé", "hsl(-0 0 0/)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseColor(s)
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		c.A = 255
		if again, err := ParseColor(Hex(c)); err != nil || again != c {
			t.Fatalf("%q: %s reads back as %v (%v)", s, Hex(c), again, err)
		}
	})
}

func TestOver(t *testing.T) {
	for _, c := range []struct{ over, bg, want string }{
		{"#00000000", "#fff", "#ffffff"}, {"rgb(0 0 0/50%)", "#fff", "#7f7f7f"}, {"#123456", "#fff", "#123456"}, {"rgb(255 0 0/20%)", "#0000ff", "#3300cc"},
	} {
		if got := Hex(Over(parse(t, c.over), parse(t, c.bg))); got != c.want {
			t.Errorf("%s over %s is %s, want %s", c.over, c.bg, got, c.want)
		}
	}
}

func TestNearestPassing(t *testing.T) {
	for _, c := range []struct {
		text, bg string
		ratio    float64
		want     string
		ok       bool
	}{
		{"#777", "white", 4.5, "#767676", true},
		{"black", "white", 4.5, "#000000", true},
		{"#484f58", "#1a1814", 4.5, "#778290", true},
		{"#808080", "#7f7f7f", 4.5, "#161616", true},
		{"#808080", "#7f7f7f", 7, "#000000", false},
		{"#0000ff", "black", 4.5, "#5e5eff", true},
	} {
		got, ok := NearestPassing(parse(t, c.text), parse(t, c.bg), c.ratio)
		if Hex(got) != c.want || ok != c.ok {
			t.Errorf("%s on %s for %g: %s, %v; want %s", c.text, c.bg, c.ratio, Hex(got), ok, c.want)
		}
	}
}

// What is found passes, has the same hue, and nothing between it and the text
// passes.
func TestNearestPassingIsNearest(t *testing.T) {
	property := func(r, g, b, r2, g2, b2 uint8, third bool) bool {
		text, bg, ratio := color.NRGBA{r, g, b, 255}, color.NRGBA{r2, g2, b2, 255}, 4.5
		if third {
			ratio = 3
		}
		got, ok := NearestPassing(text, bg, ratio)
		if !ok {
			return ContrastRatio(color.NRGBA{A: 255}, bg) < ratio && ContrastRatio(white, bg) < ratio
		}
		if ContrastRatio(got, bg) < ratio-ratioSlack {
			return false
		}
		h, s, l := toHSL(text)
		_, _, to := toHSL(got)
		for step := 1; step < 100; step++ {
			lightness := l + (to-l)*float64(step)/100
			if math.Abs(to-lightness) > 1.5/255 && ContrastRatio(fromHSL(h, s, lightness), bg) >= ratio {
				return false
			}
		}
		return got == text || distance2(got, fromHSL(h, s, to)) <= 12 // rounding aside, hue and saturation are the text's
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
}
