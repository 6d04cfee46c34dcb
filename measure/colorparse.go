package measure

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"

	"golang.org/x/image/colornames"
)

// ParseColor reads a CSS colour (CSS Color 4): a named colour, transparent,
// #rgb, #rgba, #rrggbb, #rrggbbaa, rgb() or hsl() with commas or with spaces and
// a slash before alpha; rgba() and hsla() are the same. Case and white space
// around do not matter. It is strict where CSS forgives: numbers outside their
// range are refused instead of clamped, and none, calc() and other colour
// spaces are not read.
//
// # Errors
//
// The text and what is wrong with it.
func ParseColor(s string) (color.NRGBA, error) {
	text := strings.ToLower(strings.Trim(s, " \t\r\n\f"))
	c, err := parseColor(text)
	if err != nil {
		return color.NRGBA{}, fmt.Errorf("colour %s: %w", quoteShort(s), err)
	}
	return c, nil
}

// maxQuoted bounds how much of a bad colour an error repeats, in bytes.
const maxQuoted = 60

func quoteShort(s string) string {
	if len(s) > maxQuoted {
		return strconv.Quote(strings.ToValidUTF8(s[:maxQuoted], "")) + "..."
	}
	return strconv.Quote(s)
}

func parseColor(text string) (color.NRGBA, error) {
	if hex, ok := strings.CutPrefix(text, "#"); ok {
		return parseHex(hex)
	}
	if name, rest, ok := strings.Cut(text, "("); ok {
		inner, closed := strings.CutSuffix(rest, ")")
		if !closed {
			return color.NRGBA{}, fmt.Errorf("the closing parenthesis is missing")
		}
		switch name {
		case "rgb", "rgba":
			return parseRGB(inner)
		case "hsl", "hsla":
			return parseHSL(inner)
		}
		return color.NRGBA{}, fmt.Errorf("the function %s() is not read; use rgb(), hsl() or #rrggbb", quoteShort(name))
	}
	switch text {
	case "":
		return color.NRGBA{}, fmt.Errorf("it is empty")
	case "transparent":
		return color.NRGBA{}, nil
	case "rebeccapurple": // CSS Color 4; younger than the SVG 1.1 list below
		return color.NRGBA{0x66, 0x33, 0x99, 255}, nil
	}
	if c, ok := colornames.Map[text]; ok {
		return color.NRGBA(c), nil
	}
	return color.NRGBA{}, fmt.Errorf("there is no such CSS colour name; use a name, #rgb, #rrggbb, rgb() or hsl()")
}

// parseHex reads the digits of 3, 4, 6 or 8 digit notation.
func parseHex(digits string) (color.NRGBA, error) {
	n := len(digits)
	if n != 3 && n != 4 && n != 6 && n != 8 {
		return color.NRGBA{}, fmt.Errorf("%d hex digits, want 3, 4, 6 or 8", n)
	}
	for i := range n {
		if !strings.Contains("0123456789abcdef", digits[i:i+1]) {
			return color.NRGBA{}, fmt.Errorf("%q is not a hex digit", digits[i:i+1])
		}
	}
	if n <= 4 {
		var wide strings.Builder
		for i := range n {
			wide.WriteString(digits[i:i+1] + digits[i:i+1])
		}
		digits = wide.String()
	}
	if len(digits) == 6 {
		digits += "ff"
	}
	v, err := strconv.ParseUint(digits, 16, 32)
	return color.NRGBA{uint8(v >> 24), uint8(v >> 16), uint8(v >> 8), uint8(v)}, err
}

// component is one number of a colour function, with its unit.
type component struct {
	value float64
	unit  string // "", "%", or an angle unit
}

// components splits the inside of a colour function into three components and
// an alpha, which is 1 when it is left out. legacy is true for commas.
func components(inner string) (list [3]component, alpha float64, legacy bool, err error) {
	legacy = strings.Contains(inner, ",")
	var fields []string
	if legacy {
		if strings.Contains(inner, "/") {
			return list, 0, true, fmt.Errorf("commas and a slash do not go together")
		}
		fields = strings.Split(inner, ",")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
	} else {
		colour, a, slash := strings.Cut(inner, "/")
		fields = strings.Fields(colour)
		if len(fields) != 3 {
			return list, 0, false, fmt.Errorf("%d components, want 3", len(fields))
		}
		if slash {
			fields = append(fields, strings.TrimSpace(a))
		}
	}
	if len(fields) != 3 && len(fields) != 4 {
		return list, 0, legacy, fmt.Errorf("%d components, want 3 and perhaps an alpha", len(fields))
	}
	for i := range list {
		if list[i], err = parseComponent(fields[i]); err != nil {
			return list, 0, legacy, err
		}
	}
	alpha = 1
	if len(fields) == 4 {
		a, err := parseComponent(fields[3])
		if err != nil {
			return list, 0, legacy, err
		}
		if alpha, err = a.fraction("alpha", 1); err != nil {
			return list, 0, legacy, err
		}
	}
	return list, alpha, legacy, nil
}

// parseComponent reads a CSS number and what follows it.
func parseComponent(s string) (component, error) {
	end := 0
	for end < len(s) && strings.Contains("0123456789.+-", s[end:end+1]) {
		end++
	}
	if end+1 < len(s) && s[end] == 'e' && strings.Contains("0123456789+-", s[end+1:end+2]) { // an exponent, not a unit
		end++
		for end < len(s) && strings.Contains("0123456789+-", s[end:end+1]) {
			end++
		}
	}
	v, err := strconv.ParseFloat(s[:end], 64)
	if err != nil || strings.HasSuffix(s[:end], ".") {
		return component{}, fmt.Errorf("%s is not a number", quoteShort(s))
	}
	return component{v, s[end:]}, nil
}

// fraction is the component as 0 to 1: a percentage, or a number that whole
// stands for 1.
func (c component) fraction(what string, whole float64) (float64, error) {
	switch c.unit {
	case "%":
		whole = 100
	case "":
	default:
		return 0, fmt.Errorf("%s has the unit %s", what, quoteShort(c.unit))
	}
	if c.value < 0 || c.value > whole {
		return 0, fmt.Errorf("%s is %g, want 0 to %g", what, c.value, whole)
	}
	return c.value / whole, nil
}

func parseRGB(inner string) (color.NRGBA, error) {
	list, alpha, legacy, err := components(inner)
	if err != nil {
		return color.NRGBA{}, err
	}
	if legacy && (list[0].unit != list[1].unit || list[1].unit != list[2].unit) {
		return color.NRGBA{}, fmt.Errorf("numbers and percentages are mixed")
	}
	var v [3]uint8
	for i, name := range []string{"red", "green", "blue"} {
		f, err := list[i].fraction(name, 255)
		if err != nil {
			return color.NRGBA{}, err
		}
		v[i] = to8(f)
	}
	return color.NRGBA{v[0], v[1], v[2], to8(alpha)}, nil
}

func to8(f float64) uint8 { return uint8(math.Round(f * 255)) }

// degrees of each angle unit of CSS Values 4.
var degrees = map[string]float64{"": 1, "deg": 1, "grad": 0.9, "rad": 180 / math.Pi, "turn": 360}

// maxHue bounds hues, in degrees, to where they are still exact.
const maxHue = 1e6

func parseHSL(inner string) (color.NRGBA, error) {
	list, alpha, legacy, err := components(inner)
	if err != nil {
		return color.NRGBA{}, err
	}
	unit, ok := degrees[list[0].unit]
	hue := list[0].value * unit
	if !ok || math.Abs(hue) > maxHue {
		return color.NRGBA{}, fmt.Errorf("the hue is not an angle (a number, deg, grad, rad or turn)")
	}
	if legacy && (list[1].unit != "%" || list[2].unit != "%") {
		return color.NRGBA{}, fmt.Errorf("saturation and lightness want a percent sign")
	}
	s, err := list[1].fraction("saturation", 100)
	if err != nil {
		return color.NRGBA{}, err
	}
	l, err := list[2].fraction("lightness", 100)
	if err != nil {
		return color.NRGBA{}, err
	}
	c := fromHSL(math.Mod(math.Mod(hue, 360)+360, 360), s, l)
	c.A = to8(alpha)
	return c, nil
}
