// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
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
		"takes a field that is left out as equal":  {[]any{"port", int64(2), "protocol", "TCP"}, "without a protocol"},
		"takes a first field left out as equal":    {[]any{"port", int64(9), "protocol", "SCTP"}, "without a port"},
		"finds the first one of a key":             {[]any{"port", int64(3), "protocol", "TCP"}, "the earlier of two"},
		"finds nothing by a value that none has":   {[]any{"port", int64(9), "protocol", "TCP"}, nil},
		"finds nothing by a value of another type": {[]any{"port", "1", "protocol", "TCP"}, nil},
		"finds nothing by an empty key":            {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := parent{value: ports}
			key := fieldpath.KeyByFields(test.key...)
			for range 2 { // the second time by the index that the first one made
				found, ok := p.child(fieldpath.PathElement{Key: key})
				var got any
				if ok {
					got = found.(map[string]any)["is"]
				}
				if got != test.want || ok != (test.want != nil) {
					t.Errorf("got %v, want %v", got, test.want)
				}
			}
		})
	}
}

// TestDifferent_TakesLinearTime: a tenant's list of 100 times as many items takes about 100 times
// as long to compare, not 10,000 times.
func TestDifferent_TakesLinearTime(t *testing.T) {
	t.Parallel()
	took := func(count int) time.Duration {
		fields, list := fieldpath.NewSet(), make([]any, 0, count)
		for i := range count {
			name := fmt.Sprintf("VARIABLE_%d", i)
			list = append(list, item("name", name, "value", "x"))
			fields.Insert(fieldpath.MakePathOrDie("env", fieldpath.KeyByFields("name", name), "value"))
			fields.Insert(fieldpath.MakePathOrDie("env", fieldpath.KeyByFields("name", name)))
		}
		object := map[string]any{"env": list}
		best := time.Hour
		for range 3 {
			started := time.Now()
			different(fields, object, object, nil, func(path fieldpath.Path) {
				t.Errorf("an object differs from itself: %v", path)
			})
			best = min(best, time.Since(started))
		}
		return best
	}
	if few, many := took(100), took(10_000); many > 1000*few {
		t.Errorf("100 items take %s, 10,000 take %s", few, many)
	}
}
