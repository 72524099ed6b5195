// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

func TestPods_AreReadFromTheirStatus(t *testing.T) {
	t.Parallel()
	created := metav1.Unix(100, 0)
	pods := []corev1.Pod{
		{
			ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1", CreationTimestamp: created, Labels: map[string]string{"topology.kubernetes.io/zone": "zone-1"}},
			Spec:       corev1.PodSpec{NodeName: "node-1"},
			Status: corev1.PodStatus{
				PodIPs:     []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}},
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		},
		{
			ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "2", DeletionTimestamp: &created, DeletionGracePeriodSeconds: new(int64(60))},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "memcached", Lifecycle: &corev1.Lifecycle{
				PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 50}},
			}}}},
		},
		{ObjectMeta: metav1.ObjectMeta{Name: "evicted", UID: "3"}, Status: corev1.PodStatus{Phase: corev1.PodFailed}},
	}
	want := []Pod{
		{UID: "1", Name: "a", Node: "node-1", Zone: "zone-1", Addresses: []string{"10.0.0.1", "fd00::1"}, Created: time.Unix(100, 0), Ready: true},
		{UID: "2", Name: "b", Terminating: true, PreStop: 50 * time.Second, ServesUntil: time.Unix(90, 0)},
	}
	if got := Pods(pods); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// endpoints is a slot in the form of an EndpointSlice of each family.
const endpoints = `
- addresses: [%]
  conditions: {ready: true, serving: true, terminating: false}
  hostname: cache-2
  nodeName: node-1
  targetRef: {kind: Pod, name: a, namespace: shop, uid: "1"}
  zone: zone-1
`

func TestLayout_IsRemembered(t *testing.T) {
	t.Parallel()
	layout := Layout{
		Slots: []Slot{
			{2, Pod{UID: "1", Name: "a", Node: "node-1", Zone: "zone-1", Addresses: []string{"10.0.0.1", "fd00::1"}, Ready: true}},
			{3, Pod{UID: "2", Name: "b", Addresses: []string{"10.0.0.2"}, Terminating: true}},
		},
		Families: Families,
	}
	var written []discoveryv1.EndpointSlice
	for family, address := range map[discoveryv1.AddressType]string{discoveryv1.AddressTypeIPv4: "10.0.0.1", discoveryv1.AddressTypeIPv6: `"fd00::1"`} {
		var want []discoveryv1.Endpoint
		if err := yaml.UnmarshalStrict([]byte(strings.Replace(endpoints, "%", address, 1)), &want); err != nil {
			t.Fatal(err)
		}
		got := layout.Endpoints("cache", "shop", family)
		if !reflect.DeepEqual(got[:1], want) {
			t.Errorf("%s: got %+v\nwant %+v", family, got, want)
		}
		written = append(written, discoveryv1.EndpointSlice{AddressType: family, Endpoints: got})
	}
	if got := Remembered("cache", written); !reflect.DeepEqual(got, layout) {
		t.Errorf("got %+v\nwant %+v", got, layout)
	}
}

func TestRemembered_IgnoresEndpointsOfOthers(t *testing.T) {
	t.Parallel()
	target := &corev1.ObjectReference{UID: "1"}
	slice := discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{
		{}, {Hostname: new("cache-0")}, {Hostname: new("other-0"), TargetRef: target}, {Hostname: new("cache-x"), TargetRef: target}, {Hostname: new("cache"), TargetRef: target},
	}}
	if got := Remembered("cache", []discoveryv1.EndpointSlice{slice}); len(got.Slots) > 0 {
		t.Errorf("got %+v", got)
	}
}

func TestLayout_KeepsTheFamilies(t *testing.T) {
	t.Parallel()
	pod := Pod{UID: "1", Addresses: []string{"fd00::1", "10.0.0.1"}, Ready: true}
	both := Layout{}.Next(1, []Pod{pod})
	if !reflect.DeepEqual(both.Families, Families) {
		t.Errorf("families %v of a pod with both", both.Families)
	}
	none := both.Next(0, nil)
	if len(none.Slots) > 0 || !reflect.DeepEqual(none.Families, Families) {
		t.Errorf("without pods %+v", none)
	}
}

func TestLayout_ListsNamesThatPodsHold(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		listed, size int
		held         []int
		want         int
	}{
		"all at first":                             {0, 3, nil, 3},
		"no name before a pod holds it":            {2, 3, []int{0, 1}, 2},
		"a name once a pod holds it":               {2, 3, []int{0, 1, 2}, 3},
		"several, in their order":                  {2, 5, []int{0, 1, 2, 4}, 3},
		"a name whose pod is being replaced":       {3, 3, []int{0, 1}, 3},
		"no name beyond a smaller size":            {4, 3, []int{0, 1, 2}, 3},
		"one beside a name that is being replaced": {3, 4, []int{0, 1, 3}, 4},
		"none at size 0":                           {3, 0, nil, 0},
	} {
		var slots []Slot
		for _, ordinal := range test.held {
			slots = append(slots, Slot{Ordinal: ordinal})
		}
		if got := (Layout{Listed: test.listed}).listed(test.size, slots); got != test.want {
			t.Errorf("%s: %d are listed, want %d", sentence, got, test.want)
		}
	}
}
