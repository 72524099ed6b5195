// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

func item(fields ...any) any {
	result := map[string]any{}
	for i := 0; i < len(fields); i += 2 {
		result[fields[i].(string)] = fields[i+1]
	}
	return result
}

func TestParent_FindsItemsByKey(t *testing.T) {
	t.Parallel()
	ports := []any{
		item("port", int64(1), "protocol", "TCP", "is", "first"),
		item("port", int64(1), "protocol", "UDP", "is", "second"),
		item("port", int64(2), "is", "without a protocol"),
		item("protocol", "SCTP", "is", "without a port"),
		item("port", int64(3), "protocol", "TCP", "is", "the earlier of two"),
		item("port", int64(3), "protocol", "TCP", "is", "the later of two"),
		"no map",
	}
	for name, test := range map[string]struct {
		key  []any
		want any
	}{
		"finds an item":                            {[]any{"port", int64(1), "protocol", "TCP"}, "first"},
		"tells items apart by the second field":    {[]any{"port", int64(1), "protocol", "UDP"}, "second"},
		"matches an absent field":                  {[]any{"port", int64(2), "protocol", "TCP"}, "without a protocol"},
		"matches an absent first field":            {[]any{"port", int64(9), "protocol", "SCTP"}, "without a port"},
		"finds the first one of a key":             {[]any{"port", int64(3), "protocol", "TCP"}, "the earlier of two"},
		"finds nothing by a value that none has":   {[]any{"port", int64(9), "protocol", "TCP"}, nil},
		"finds nothing by a value of another type": {[]any{"port", "1", "protocol", "TCP"}, nil},
		"finds nothing by an empty key":            {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := fieldpath.KeyByFields(test.key...)
			for _, list := range [][]any{ports, append(ports, make([]any, fewItems)...)} {
				p := newParent(value.NewValueInterface(list))
				for range 2 { // the second time by the index that the first one made
					found, ok := p.child(fieldpath.PathElement{Key: key})
					var got any
					if ok {
						got = found.Unstructured().(map[string]any)["is"]
					}
					if got != test.want || ok != (test.want != nil) {
						t.Errorf("in %d items: got %v, want %v", len(list), got, test.want)
					}
				}
			}
		})
	}
}

// TestParent_ComparesOneCandidate: finding each item of a tenant's list takes a step for each item,
// not one for each pair of them.
func TestParent_ComparesOneCandidate(t *testing.T) {
	t.Parallel()
	_, object := variables(1_000)
	p := newParent(value.NewValueInterface(object["env"]))
	for i, item := range object["env"].([]any) {
		key := fieldpath.KeyByFields("name", item.(map[string]any)["name"])
		if got := p.candidates(*key); !slices.Equal(got, []int{i}) {
			t.Fatalf("item %d: looked at %v", i, got)
		}
	}
}

// BenchmarkDifferent compares a list with itself: one of 100 times as many items takes about
// 100 times as long.
func BenchmarkDifferent(b *testing.B) {
	for _, count := range []int{100, 10_000} {
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			fields, content := variables(count)
			object := value.NewValueInterface(content)
			b.ReportAllocs()
			for b.Loop() {
				compareFields(fields, object, object, nil, func(path fieldpath.Path) {
					b.Fatalf("an object differs from itself: %v", path)
				})
			}
		})
	}
}

// variables returns an object with a list of count items, and the paths of all their fields.
func variables(count int) (*fieldpath.Set, map[string]any) {
	fields, list := fieldpath.NewSet(), make([]any, 0, count)
	for i := range count {
		name := fmt.Sprintf("VARIABLE_%d", i)
		list = append(list, item("name", name, "value", "x"))
		fields.Insert(fieldpath.MakePathOrDie("env", fieldpath.KeyByFields("name", name), "value"))
		fields.Insert(fieldpath.MakePathOrDie("env", fieldpath.KeyByFields("name", name)))
	}
	return fields, map[string]any{"env": list}
}
