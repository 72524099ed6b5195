// SPDX-License-Identifier: Apache-2.0

package status

import cachev1alpha1 "github.com/example/memcached-operator/apis/v1alpha1"

// changingImages reports a change of images in place.
func changingImages(o Observation) *evaluation {
	for _, result := range o.Results {
		if p := result.InPlace; p.Progress != "" && !p.Done && p.Refused == "" {
			return &evaluation{reconciling, cachev1alpha1.ReasonRollingOut, p.Progress}
		}
	}
	return nil
}
