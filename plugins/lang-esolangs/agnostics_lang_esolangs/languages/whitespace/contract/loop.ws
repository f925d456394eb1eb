label-a
  	
jump-to-a
 
	
